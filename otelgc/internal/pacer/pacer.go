// Package pacer spreads work that comes in bursts.
package pacer

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	// leastWork is done between two rests, longestWork where a rest takes long
	// since others have the CPU.
	leastWork   = 200 * time.Microsecond
	longestWork = 4 * time.Millisecond
	// shortRest is asked for. It is about a millisecond where the P has
	// nothing else to do, and as long as others need it where it has.
	shortRest = 200 * time.Microsecond
	// workShare of a rest is worked after it: so a busy program gets four
	// fifths of the P while a second of its trace is decoded, and the decoder
	// does not fall behind either.
	workShare = 4
)

// Pacer spreads work that comes in bursts. Work of ten milliseconds in one piece
// would have a P for as long, and what wants it waits, since the runtime takes a
// P away after ten: and the network is not polled meanwhile, so requests of an
// idle program would wait too. Yielding is not enough, as the runtime polls the
// network only when nothing else is runnable. A nil Pacer never rests.
type Pacer struct {
	clock stall.Clock
	Sleep func(time.Duration) // time.Sleep but in tests

	begun  stall.Instant // of the present piece of work
	piece  time.Duration // how long it may be
	Worked time.Duration // in all
}

// New returns a pacer whose work begins now.
func New(clock stall.Clock) Pacer {
	return Pacer{clock: clock, Sleep: time.Sleep, begun: clock.Now(), piece: leastWork}
}

// Begin starts to count work, after a wait.
func (p *Pacer) Begin() {
	if p != nil {
		p.begun = p.clock.Now()
	}
}

// End stops to count work, before a wait.
func (p *Pacer) End() {
	if p != nil {
		p.Worked += p.clock.Now().Sub(p.begun)
	}
}

// Breathe rests if there was enough work. It is called often.
func (p *Pacer) Breathe() {
	if p == nil {
		return
	}
	now := p.clock.Now()
	if now.Sub(p.begun) < p.piece {
		return
	}
	p.Worked += now.Sub(p.begun)
	p.Sleep(shortRest)
	p.begun = p.clock.Now()
	p.piece = min(max(p.begun.Sub(now)/workShare, leastWork), longestWork)
}
