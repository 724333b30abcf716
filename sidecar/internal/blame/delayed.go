package blame

import (
	"slices"
	"strings"

	"github.com/otelgc/otelgc/sidecar/internal/page"
	"github.com/otelgc/otelgc/stall"
)

// stallsOf returns what stalled the requests of s, the most first. Queue is not
// among them: it is what is left of the way to the handler and back when nothing
// else explains it, as app is of the handler.
func stallsOf(s *stall.Share) []stall.Cause {
	var causes []stall.Cause
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		if c != stall.Queue && s.Charged[c] > 0 {
			causes = append(causes, c)
		}
	}
	slices.SortStableFunc(causes, func(a, b stall.Cause) int {
		return int(max(-1, min(1, s.Charged[b]-s.Charged[a])))
	})
	return causes
}

// GCShare returns what garbage collection had of the time of all requests, and
// of the time of those that it delayed. In fidelity cycle both are at most.
func (t *Tally) GCShare() (ofAll, ofDelayed float64) {
	return t.Of(t.Share.GC()), ratio(t.AffectedShare.GC(), t.AffectedShare.Total)
}

// delayed returns the tally of all requests in the better fidelity of those in
// which any was delayed by garbage collection.
func (j *Judgement) delayed() (t Tally, f stall.Fidelity) {
	for _, f := range []stall.Fidelity{stall.Exact, stall.Cycle} {
		t := j.sum(func(r *Row) bool { return r.Fidelity == f })
		if t.Affected > 0 {
			return t, f
		}
	}
	return Tally{}, stall.Cycle
}

// delays returns the table of what garbage collection cost each band of which it
// delayed a request; nil if there is none.
func (j *Judgement) delays() *page.Table {
	if t, _ := j.delayed(); t.Affected == 0 {
		return nil
	}
	g := &page.Table{}
	g.Row("", "fide-", "", "of", "their", "of all", "by", "by", "full", "two in", "their first")
	g.Row("latency", "lity", "delayed", "all %", "time %", "time %", "one", "more", "block.", "a stop", "stall")
	for i := range j.Rows {
		if j.Rows[i].Affected > 0 {
			g.Row(j.Rows[i].delayCells()...)
		}
	}
	return g
}

func (row *Row) delayCells() []string {
	atMost := func(cell string) string {
		if row.Fidelity == stall.Cycle && !strings.HasPrefix(cell, "<") {
			return "≤" + cell
		}
		return cell
	}
	ofAll, ofDelayed := row.GCShare()
	cells := []string{
		bandTitles[row.Band], row.Fidelity.String(), atMost(number(row.Affected)),
		atMost(cell(fraction(row.Affected, row.Requests))), atMost(cell(ofDelayed)), atMost(cell(ofAll)),
		number(row.Affected - row.Several), number(row.Several), number(row.FullBlocking), number(row.OneStop),
	}
	return append(cells, stallsOf(&row.AffectedShare)[0].String())
}

func number(n int) string {
	if n == 0 {
		return "·"
	}
	return page.Count(n)
}
