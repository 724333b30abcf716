package slowed

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// usualOf is how many collections of a kind the usual is the median of, and
	// usualFrom how many it takes: with fewer nothing is called long.
	usualOf, usualFrom = 63, 9
	// longFrom is how many times the usual a long pause takes at least.
	longFrom = 2
	// blameFrom is the part of what it takes more than the usual that the
	// machine must have taken for certain.
	blameFrom = 0.5
	// workBase is the work of a collection that nothing survives: a collector
	// moves a megabyte in about the time that the shortest collection takes.
	workBase gc.Bytes = 1 << 20
)

// Usual knows how long collections pause for their work, and finds those that
// the machine made longer. The rule:
//
//   - The work of a collection that stops the program throughout (ephemeral,
//     full blocking) is what survived it and one megabyte. That of a background
//     one is always the same: its pauses do not grow with the heap.
//   - The usual is the median of pause per work over the last 63 collections of
//     the kind, times the work, from 9 collections on. What the machine took of
//     those is not in it.
//   - A collection is long for its work if its pauses take at least twice the
//     usual.
//   - A long one is slowed by the machine if half of what it took more than the
//     usual, or more, was taken by the machine inside its pauses for certain:
//     [gc.HostDuring.CPUWait] and [gc.HostDuring.PageWait]. The greater one names it.
//
// What is only counted around a pause proves nothing, and names nothing. The
// zero Usual has seen no collection. It is for one goroutine.
type Usual struct{ kinds [gc.NumKinds]recent }

// Classify fills in c's UsualPause and SlowedBy, and takes it in.
func (u *Usual) Classify(c *gc.Collection) {
	work, ok := workOf(c)
	if !ok {
		return
	}
	r := &u.kinds[c.Kind]
	paused := c.PauseTotal()
	cpu, page := c.HostTook()
	if r.seen >= usualFrom {
		usual := time.Duration(r.median() * work)
		c.UsualPause = gc.Known(usual)
		c.SlowedBy = blame(paused, usual, cpu, page)
	}
	r.add(float64(max(0, paused-cpu-page)) / work)
}

// Fill says in c what the machine did to the process while c ran and in its pauses, as
// during knows it of a span that is off by slack, and classifies c.
func (u *Usual) Fill(c *gc.Collection, during func(s stall.Span, slack time.Duration) gc.HostDuring) {
	if s := c.Extent(); during != nil && !s.Empty() {
		c.HostDuring = during(s, 0)
		for i := range c.Pauses {
			p := &c.Pauses[i]
			p.HostDuring = during(stall.Span{Start: p.Start, End: p.End}, p.Slack)
		}
	}
	u.Classify(c)
}

// workOf returns the work of c in megabytes, or in collections. It is not known
// of a record that lacks a part, or that stands for several collections.
func workOf(c *gc.Collection) (work float64, ok bool) {
	if c.Kind == gc.NoKind || c.Kind >= gc.NumKinds || c.Cycles > 1 || c.Incomplete != "" || len(c.Pauses) == 0 {
		return 0, false
	}
	if c.Kind == gc.Background {
		return 1, true
	}
	promoted, known := c.Promoted.Get()
	return float64(promoted+workBase) / float64(workBase), known
}

func blame(paused, usual, cpu, page time.Duration) gc.SlowedBy {
	switch more := paused - usual; {
	case more <= 0 || paused < longFrom*usual || float64(cpu+page) < blameFrom*float64(more):
		return gc.NotSlowed
	case cpu >= page:
		return gc.StolenCPU
	}
	return gc.Paging
}

// recent holds the last samples of a kind.
type recent struct {
	samples [usualOf]float64 // pause per work, ns
	seen    int
	sorted  [usualOf]float64 // scratch
}

func (r *recent) add(sample float64) {
	r.samples[r.seen%usualOf] = sample
	r.seen++
}

func (r *recent) median() float64 {
	s := r.sorted[:copy(r.sorted[:], r.samples[:min(r.seen, usualOf)])]
	slices.Sort(s)
	return s[len(s)/2]
}
