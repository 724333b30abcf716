// Package gaps says what a probe has seen, as a table and as JSON: all gaps
// counted, the longest of them one by one. Why there was a gap is the probe's own
// word; nothing is judged here.
package gaps

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
)

// maxKept bounds the gaps that a Log keeps: the longest.
const maxKept = 10_000

// Log keeps the longest gaps of a run. It is for one goroutine at a time; the
// zero value is ready.
type Log struct {
	kept  []jitterprobe.Gap
	lost  uint64
	least time.Duration // gaps up to it are lost: maxKept are longer
}

// Add keeps g, or counts it if there are maxKept that are longer.
func (l *Log) Add(g jitterprobe.Gap) {
	if g.Duration() <= l.least {
		l.lost++
		return
	}
	l.kept = append(l.kept, g)
	if len(l.kept) == 2*maxKept {
		l.trim()
	}
}

func (l *Log) trim() {
	if len(l.kept) <= maxKept {
		return
	}
	slices.SortFunc(l.kept, func(a, b jitterprobe.Gap) int { return cmp.Compare(b.Duration(), a.Duration()) })
	l.lost += uint64(len(l.kept) - maxKept)
	l.kept = l.kept[:maxKept]
	l.least = l.kept[maxKept-1].Duration()
}

// Gaps returns what is kept, in order of time, and how many shorter ones are
// not.
func (l *Log) Gaps() (list []jitterprobe.Gap, left uint64) {
	l.trim()
	slices.SortFunc(l.kept, func(a, b jitterprobe.Gap) int { return cmp.Compare(a.Start, b.Start) })
	return l.kept, l.lost
}
