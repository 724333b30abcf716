// Package budget keeps the memory of an attributor within its limit.
package budget

import (
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Budget bounds the memory of the spans that are held, of what is known of hosts and
// processes, and of the sums of services, by MaxBytes and MaxSpans. Its methods are safe
// for concurrent use.
type Budget struct {
	MaxBytes, MaxSpans int

	mu                  sync.Mutex
	spans               int // held
	held, known, summed int // bytes
}

// The parts of the memory, as the number that it is divided by. Hosts and processes may
// take half of it. An eighth is never lent to spans and sums, since spans can wait for
// nothing if no host is known. The sums may take an eighth.
const (
	MostKnown  = 2
	leastKnown = 8
	MostSummed = 8
)

// Hold counts spans if there is room. It reports false if not.
func (b *Budget) Hold(spans, bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if spans > b.MaxSpans-b.spans || bytes > b.free() {
		return false
	}
	b.spans += spans
	b.held += bytes
	return true
}

// free returns how much is not used, without what is left to what is known.
func (b *Budget) free() int {
	return b.MaxBytes - b.held - b.summed - max(b.known, b.MaxBytes/leastKnown)
}

// Release counts off spans that are held no more.
func (b *Budget) Release(spans, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spans -= spans
	b.held -= bytes
}

// knowable returns how much may be known while so many spans are held.
func (b *Budget) knowable() int { return min(b.MaxBytes/MostKnown, b.MaxBytes-b.held-b.summed) }

// Know counts bytes of a host or a process if there is room. It reports false if not.
func (b *Budget) Know(bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lend(bytes, b.knowable())
}

// Grow counts bytes of one that is known already, if there is room: the last eighth
// is left to newcomers.
func (b *Budget) Grow(bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.knowable()
	return b.lend(bytes, most-most/8)
}

func (b *Budget) lend(bytes, most int) bool {
	if bytes > most-b.known {
		return false
	}
	b.known += bytes
	return true
}

// Plenty reports whether less than half of what may be known is.
func (b *Budget) Plenty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known < b.knowable()/2
}

// Forget counts off bytes of Know or Grow.
func (b *Budget) Forget(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known -= bytes
}

// AddSums counts the sums of one more service if there is room.
func (b *Budget) AddSums(bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > b.MaxBytes/MostSummed-b.summed || bytes > b.free() {
		return false
	}
	b.summed += bytes
	return true
}

// DropSums counts off the sums of a service.
func (b *Budget) DropSums(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.summed -= bytes
}

// Sizes returns how many spans are held, and the bytes of them, of what is known and of
// the sums.
func (b *Budget) Sizes() (spans, held, known, summed int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spans, b.held, b.known, b.summed
}

// Memory lends room to the lists of stalls, pauses and statuses.
//
// A list begins small and grows to its limit. While memory is plenty a list keeps all
// that it can. Then it keeps only what a span that waits, or is yet to come, may want.
// So a fleet of quiet processes needs little, and a few processes may keep hours.
type Memory struct {
	*Budget
	Wait    stall.Instant // how far back a span that waits wants to know
	Back    stall.Instant // how far back one that is yet to come may
	Crowded uint64        // stalls that a span that waits may want, and that found no room
}

// LookBack is how far back a span that comes in time may want to know: so long
// it was, and so late it came.
const LookBack = 2 * time.Minute
