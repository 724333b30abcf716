package attribution

import "sync"

// account is the one that keeps MaxBytes and MaxSpans: of the memory of the
// spans that are held, of what is known of hosts and processes, and of the sums
// of services. It has a lock of its own.
type account struct {
	maxBytes, maxSpans int

	mu                  sync.Mutex
	spans               int // held
	held, known, summed int // bytes
}

const (
	// What is known may take half of the memory, and an eighth is never lent
	// to spans and sums: spans can wait for nothing if no host is known.
	mostKnown  = 2
	leastKnown = 8
	// mostSummed is the part that the sums may take.
	mostSummed = 8
)

// hold counts spans if there is room.
func (a *account) hold(spans, bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if spans > a.maxSpans-a.spans || bytes > a.free() {
		return false
	}
	a.spans += spans
	a.held += bytes
	return true
}

// free returns how much nobody has, without what is left to what is known.
func (a *account) free() int {
	return a.maxBytes - a.held - a.summed - max(a.known, a.maxBytes/leastKnown)
}

// handOn counts off spans that are held no more.
func (a *account) handOn(spans, bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spans -= spans
	a.held -= bytes
}

// knowable returns how much may be known while so many spans are held.
func (a *account) knowable() int { return min(a.maxBytes/mostKnown, a.maxBytes-a.held-a.summed) }

// know counts what is to be known if there is room.
func (a *account) know(bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lend(bytes, a.knowable())
}

// grow counts what is to be known more of what is known, if there is room: the
// last eighth is for who is new.
func (a *account) grow(bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	most := a.knowable()
	return a.lend(bytes, most-most/8)
}

func (a *account) lend(bytes, most int) bool {
	if bytes > most-a.known {
		return false
	}
	a.known += bytes
	return true
}

// plenty reports whether so little is known that more than need be may be.
func (a *account) plenty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known < a.knowable()/2
}

// forget counts off what is known no more.
func (a *account) forget(bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known -= bytes
}

// sum counts the sums of one more service if there is room.
func (a *account) sum(bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if bytes > a.maxBytes/mostSummed-a.summed || bytes > a.free() {
		return false
	}
	a.summed += bytes
	return true
}

// unsum counts off the sums of a service.
func (a *account) unsum(bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.summed -= bytes
}

// sizes returns how many spans are held, and the bytes of them and of the rest.
func (a *account) sizes() (spans, held, known int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spans, a.held, a.known + a.summed
}
