package gcwatch

import "sync"

// Turns lets others wait for the turns of a loop. Whoever waits brings no channel of
// his own: if he is in a bubble of testing/synctest, the runtime ends the program when
// the loop, which is outside, closes it.
type Turns struct {
	mu   sync.Mutex
	over chan struct{}
}

// NewTurns is for the goroutine that starts the loop.
func NewTurns() *Turns { return &Turns{over: make(chan struct{})} }

// Over returns what is closed when a turn is over, the one under way if there is one.
func (t *Turns) Over() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// End is the loop's: a turn is over.
func (t *Turns) End() {
	next := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.over)
	t.over = next
}
