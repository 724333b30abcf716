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

// balance is the state of the account after a reading.
type balance uint8

const (
	balanced  balance = iota // every stop belongs to a cycle that ended
	pending                  // a stop belongs, or may belong, to a cycle in progress
	untenable                // as pending, and the account cannot be kept: start anew
)

// maxUnresolved bounds over how many cycles an account may stay open. The
// widths of the buckets add up, so a longer one only gets harder to decide.
const maxUnresolved = 4

// maxSurplus bounds the stops beyond two per cycle that are examined.
const maxSurplus = 4

// update takes in the reading now.
func (l *ledger) update(now, prev *reading) balance {
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

// maxHold is for how long the watermark waits for a cycle in progress. It is
// shorter than the 3 s after which the join stops to wait for a source and
// calls all that it waits for unseen: so only the few milliseconds between two
// readings are unseen, in which the cycle's first stop lies.
const maxHold = 2 * time.Second

// watermark is how far everything is known, and why it goes no further.
type watermark struct {
	at stall.Instant
	// held is about the stops that no batch has reported.
	held struct {
		stops uint64        // stops counted when the newest of them was seen
		since stall.Instant // when that was, or the cycle before ended
		until stall.Instant // they lie before it
		known bool
		given bool // they were named unseen
	}
}

func (m *watermark) raise(to stall.Instant) { m.at = max(m.at, to) }

// advance moves the watermark as far as the reading now allows. ended is when
// the newest cycle ended, if one did in this reading.
//
// A stop that a reading counts but no record reports may begin anywhere after
// the reading before. But cycles do not overlap: it begins after the end of
// the newest cycle that was reported.
func (w *Watcher) advance(v balance, ended stall.Instant) {
	m, now := &w.mark, w.cur
	if !now.otherSettled {
		return // a stop is over whose length will be known in the next reading
	}
	if v == balanced {
		m.held.known, m.held.given = false, false
		m.raise(now.begin)
		return
	}
	m.raise(min(ended, now.begin))
	if stops := now.gcStopping.total; !m.held.known || ended != 0 || stops != m.held.stops {
		m.held.known, m.held.given = true, false
		m.held.stops, m.held.since, m.held.until = stops, now.begin, now.end
	}
	if v == untenable {
		w.ledger.rebase(now, false)
		w.ledger.hidden = true
	}
	if !m.held.given && now.begin.Sub(m.held.since) > maxHold {
		w.giveUp()
	}
	if m.held.given {
		m.raise(now.begin)
	}
}

// giveUp marks as unseen where the stops lie that no batch has reported. It starts a
// new account, unless the account only waits for the end of one cycle.
func (w *Watcher) giveUp() {
	m := &w.mark
	w.unseen(stall.Span{Start: m.at, End: m.held.until})
	m.held.given = true
	w.ledger.hidden = false
	if w.ledger.cycles > 0 {
		w.ledger.rebase(w.cur, false)
	}
}

// giveUpLast marks as unseen what only another reading would tell: there is none.
func (w *Watcher) giveUpLast() {
	m := &w.mark
	w.unseen(stall.Span{Start: m.at, End: w.cur.begin})
	m.raise(w.cur.begin)
	w.batch.Watermark = m.at
}
