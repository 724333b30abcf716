package gcwatch

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

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
func (w *Watcher) advance(v verdict, ended stall.Instant) {
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
		w.forsake()
	}
	if m.held.given {
		m.raise(now.begin)
	}
}

// forsake names unseen where the stops lie that no batch has reported. The
// account begins anew, unless it merely waits for the end of one cycle.
func (w *Watcher) forsake() {
	m := &w.mark
	w.unseen(stall.Span{Start: m.at, End: m.held.until})
	m.held.given = true
	w.ledger.hidden = false
	if w.ledger.cycles > 0 {
		w.ledger.rebase(w.cur, false)
	}
}
