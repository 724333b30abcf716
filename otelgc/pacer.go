package otelgc

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

// pacer spreads work that comes in bursts. Work of ten milliseconds in one piece
// would have a P for as long, and what wants it waits, since the runtime takes a
// P away after ten: and nobody polls the network meanwhile, so requests of an
// idle program would wait too. Yielding is not enough, as the runtime polls the
// network only when nothing else is runnable. A nil pacer never rests.
type pacer struct {
	clock stall.Clock
	sleep func(time.Duration) // time.Sleep but in tests

	begun  stall.Instant // of the present piece of work
	piece  time.Duration // how long it may be
	worked time.Duration // in all
}

func newPacer(clock stall.Clock) pacer {
	return pacer{clock: clock, sleep: time.Sleep, begun: clock.Now(), piece: leastWork}
}

// begin starts to count work, after a wait.
func (p *pacer) begin() {
	if p != nil {
		p.begun = p.clock.Now()
	}
}

// end stops to count work, before a wait.
func (p *pacer) end() {
	if p != nil {
		p.worked += p.clock.Now().Sub(p.begun)
	}
}

// breathe rests if there was enough work. It is called often.
func (p *pacer) breathe() {
	if p == nil {
		return
	}
	now := p.clock.Now()
	if now.Sub(p.begun) < p.piece {
		return
	}
	p.worked += now.Sub(p.begun)
	p.sleep(shortRest)
	p.begun = p.clock.Now()
	p.piece = min(max(p.begun.Sub(now)/workShare, leastWork), longestWork)
}
