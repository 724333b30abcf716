package gc

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
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
	workBase Bytes = 1 << 20
)

// Usual knows how long collections pause for their work, and tells those that
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
//     [HostDuring.CPUWait] and [HostDuring.PageWait]. The greater one names it.
//
// What is only counted around a pause proves nothing, and names nothing. The
// zero Usual has seen no collection. It is for one goroutine.
type Usual struct{ kinds [NumKinds]recent }

// Judge fills in c's UsualPause and SlowedBy, and takes it in.
func (u *Usual) Judge(c *Collection) {
	work, ok := workOf(c)
	if !ok {
		return
	}
	r := &u.kinds[c.Kind]
	paused := c.PauseTotal()
	cpu, page := c.taken()
	if r.seen >= usualFrom {
		usual := time.Duration(r.median() * work)
		c.UsualPause = Known(usual)
		c.SlowedBy = blame(paused, usual, cpu, page)
	}
	r.add(float64(max(0, paused-cpu-page)) / work)
}

// workOf returns the work of c in megabytes, or in collections. It is not known
// of a record that lacks a part, or that stands for several collections.
func workOf(c *Collection) (work float64, ok bool) {
	if c.Kind == NoKind || c.Kind >= NumKinds || c.Cycles > 1 || c.Incomplete != "" || len(c.Pauses) == 0 {
		return 0, false
	}
	if c.Kind == Background {
		return 1, true
	}
	promoted, known := c.Promoted.Get()
	return float64(promoted+workBase) / float64(workBase), known
}

func blame(paused, usual, cpu, page time.Duration) SlowedBy {
	switch more := paused - usual; {
	case more <= 0 || paused < longFrom*usual || float64(cpu+page) < blameFrom*float64(more):
		return NotSlowed
	case cpu >= page:
		return StolenCPU
	}
	return Paging
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

// SlowedBy says what the machine made the pauses of a collection long by, see
// [Usual] for the rule.
type SlowedBy uint8

const (
	NotSlowed SlowedBy = iota // not long for the work, or nothing proves that it was the machine
	StolenCPU                 // threads were ready to run, and had no CPU
	Paging                    // a thread waited for a page from disk
	numSlowedBy
)

var slowedNames = [numSlowedBy]string{"none", "stolen_cpu", "paging"}

// String returns the name of s in the telemetry contract.
func (s SlowedBy) String() string {
	if s < numSlowedBy {
		return slowedNames[s]
	}
	return fmt.Sprintf("slowed_by(%d)", uint8(s))
}

// MarshalText encodes s by its name.
func (s SlowedBy) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes a name.
func (s *SlowedBy) UnmarshalText(name []byte) error {
	return parseName(s, "slowed by", slowedNames[:], name)
}

// Slowed says in words what made the pauses of c long, such as
//
//	stolen CPU: paused 48.2 ms, 12 times the usual for its work, 44.1 ms of it without a CPU
//
// It is empty where [Collection.SlowedBy] is NotSlowed.
func (c *Collection) Slowed() string {
	cpu, page := c.taken()
	what, part, without := "stolen CPU", cpu, "without a CPU"
	switch c.SlowedBy {
	case StolenCPU:
	case Paging:
		what, part, without = "paging", page, "waiting for pages from disk"
	default:
		return ""
	}
	paused := c.PauseTotal()
	text := what + ": paused " + stall.Humane(paused)
	if usual := c.UsualPause.Or(0); usual > 0 {
		text += fmt.Sprintf(", %.2g times the usual for its work", min(99, float64(paused)/float64(usual)))
	}
	return text + ", " + stall.Humane(part) + " of it " + without
}

// taken returns what the machine took of the pauses of c for certain.
func (c *Collection) taken() (cpu, page time.Duration) {
	for i := range c.Pauses {
		cpu += c.Pauses[i].HostDuring.CPUWait.Or(0)
		page += c.Pauses[i].HostDuring.PageWait.Or(0)
	}
	return cpu, page
}
