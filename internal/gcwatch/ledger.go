package gcwatch

import (
	"math"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// ledger relates the stops of the collector to cycles. A cycle has two stops,
// or more when mark termination is retried; the runtime does not say which stop
// was whose, nor whether a cycle is in progress. The parity of the count does
// not tell either, because of the retries. So the ledger counts from the last
// reading at which no cycle was in progress for certain, its base:
//
//   - If k cycles ended and there were 2k stops, all is accounted for.
//   - If there were more, the surplus may be retries, or the first stops of a
//     cycle in progress. The exact sum of the pauses of the k cycles and the
//     buckets of all stops decide which numbers are feasible.
//   - If there were fewer, the base was wrong: a stop had come before it.
type ledger struct {
	base   reading
	sound  bool // no cycle was in progress at the base, for all that is known
	hidden bool // a stop before the base may belong to a cycle that no batch reported
	edges  []Bucket
	cycles uint32 // ended since the base, at the newest reading
	// first is where the one stop of a cycle in progress lies, if a reading
	// saw it before the cycle ended.
	first struct {
		known bool
		span  stall.Span
		edge  int
	}
}

// verdict says how a reading leaves the account.
type verdict uint8

const (
	balanced  verdict = iota // every stop belongs to a cycle that ended
	pending                  // a stop belongs, or may belong, to a cycle in progress
	untenable                // as pending, and the account cannot be kept: start anew
)

// maxUnresolved bounds over how many cycles an account may stay open. The
// widths of the buckets add up, so a longer one only gets harder to decide.
const maxUnresolved = 4

// maxSurplus bounds the stops beyond two per cycle that are examined.
const maxSurplus = 4

// judge takes in the reading now.
func (l *ledger) judge(now, prev *reading) verdict {
	l.cycles = now.cycles - l.base.cycles
	stops := now.gcStopping.total - l.base.gcStopping.total
	need := 2 * uint64(l.cycles)
	switch {
	case !now.gcSettled || !now.coherent:
		return pending
	case stops < need:
		return balanced // see above: what was missing came before the base
	case l.cycles == 0 && stops == 0 && l.hidden:
		return pending
	case l.cycles == 0 && stops == 0:
		return balanced
	case l.cycles == 0:
		l.noteFirst(now, prev, stops)
		return pending
	}
	// With a base that was wrong, a hidden stop may stand for a left over one
	// of the same length: the sum cannot tell, and the watermark then passes
	// one stop that the next batch reports.
	paused := now.pauseTotal - l.base.pauseTotal
	least, most := l.leftOver(now, paused, stops-need)
	switch {
	case most == 0:
		return balanced
	case least < 0 || l.cycles >= maxUnresolved:
		return untenable
	}
	return pending
}

// noteFirst remembers the reading that first saw the only stop of a cycle.
func (l *ledger) noteFirst(now, prev *reading, stops uint64) {
	if stops != 1 || l.first.known {
		return
	}
	for i, n := range now.gcTotal.of {
		if n != l.base.gcTotal.of[i] {
			l.first.known, l.first.edge = true, i
			l.first.span = stall.Span{Start: l.base.begin, End: now.end}
			if prev.gcStopping.total == l.base.gcStopping.total {
				l.first.span.Start = prev.begin
			}
			return
		}
	}
}

// leftOver returns the least and the most number of stops, up to surplus, that
// can be left over when the others sum to paused: -1, -1 if none can.
func (l *ledger) leftOver(now *reading, paused time.Duration, surplus uint64) (least, most int) {
	least, most = -1, -1
	if surplus > maxSurplus {
		return least, most
	}
	var low, high float64 // of the sum of all stops; the last bucket has no bound
	for i, n := range now.gcTotal.of {
		if d := float64(n - l.base.gcTotal.of[i]); d != 0 {
			low += d * float64(l.edges[i].Low)
			high += d * upper(l.edges[i])
		}
	}
	for c := 0; c <= int(surplus); c++ {
		if float64(paused) >= low-l.largestLows(now, c) && float64(paused) <= high-l.smallestHighs(now, c) {
			if least < 0 {
				least = c
			}
			most = c
		}
	}
	return least, most
}

func upper(b Bucket) float64 {
	if b.High == maxDuration {
		return math.Inf(1)
	}
	return float64(b.High)
}

func (l *ledger) largestLows(now *reading, c int) (sum float64) {
	for i := len(l.edges) - 1; i >= 0 && c > 0; i-- {
		for d := now.gcTotal.of[i] - l.base.gcTotal.of[i]; d > 0 && c > 0; d, c = d-1, c-1 {
			sum += float64(l.edges[i].Low)
		}
	}
	return sum
}

func (l *ledger) smallestHighs(now *reading, c int) (sum float64) {
	for i := 0; i < len(l.edges) && c > 0; i++ {
		for d := now.gcTotal.of[i] - l.base.gcTotal.of[i]; d > 0 && c > 0; d, c = d-1, c-1 {
			sum += min(float64(l.edges[i].High), math.MaxInt64)
		}
	}
	return sum
}

// rebase starts the account anew at now. sound says that no cycle is in
// progress then.
func (l *ledger) rebase(now *reading, sound bool) {
	now.copyTo(&l.base)
	l.sound, l.hidden = sound, false
	l.cycles = 0
	l.first.known = false
}

// two returns the buckets of the two stops of the only cycle since the base.
func (l *ledger) two(now *reading) (a, b int, ok bool) {
	if l.cycles != 1 || now.gcTotal.total-l.base.gcTotal.total != 2 {
		return 0, 0, false
	}
	a = -1
	for i, n := range now.gcTotal.of {
		for d := n - l.base.gcTotal.of[i]; d > 0; d-- {
			if a < 0 {
				a = i
			}
			b = i
		}
	}
	return a, b, true
}
