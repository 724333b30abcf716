package attribution

import "sync"

// account is the one that keeps MaxBytes and MaxSpans: of the memory of the
// spans that are held, and of what is known of hosts and processes. It has a
// lock of its own.
type account struct {
	maxBytes, maxSpans int

	mu          sync.Mutex
	spans       int // held
	held, known int // bytes
}

// What is known may take half of the memory, and an eighth is never lent to
// spans: they can wait for nothing if no host is known.
const (
	mostKnown  = 2
	leastKnown = 8
)

// hold counts spans if there is room.
func (a *account) hold(spans, bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if spans > a.maxSpans-a.spans || bytes > a.maxBytes-a.held-max(a.known, a.maxBytes/leastKnown) {
		return false
	}
	a.spans += spans
	a.held += bytes
	return true
}

// handOn counts off spans that are held no more.
func (a *account) handOn(spans, bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spans -= spans
	a.held -= bytes
}

// know counts what is to be known if there is room.
func (a *account) know(bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if bytes > a.maxBytes/mostKnown-a.known || bytes > a.maxBytes-a.held-a.known {
		return false
	}
	a.known += bytes
	return true
}

// forget counts off what is known no more.
func (a *account) forget(bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known -= bytes
}

func (a *account) sizes() (spans, held, known int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spans, a.held, a.known
}
