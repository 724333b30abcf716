package otelgc

import "sync"

// turns lets others wait for the turns of a loop. The loop makes the channels, not
// whoever waits: if that is in a bubble of testing/synctest, the runtime would end the
// program when the loop, which is outside, closes a channel of the bubble.
type turns struct {
	mu   sync.Mutex
	next chan struct{}
}

func newTurns() *turns { return &turns{next: make(chan struct{})} }

// over returns a channel that is closed when a turn is over, the one under way if
// there is one.
func (t *turns) over() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next
}

// end says that a turn is over.
func (t *turns) end() {
	next := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.next)
	t.next = next
}
