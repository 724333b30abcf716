package blame

import (
	"slices"
	"strings"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
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
// of the time of those that it delayed. In fidelity cycle both are of pauses that
// fell into requests for certain, which need not have delayed them; more of them may
// be uncertain.
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
// delayed a request; nil if there is none. What only other collectors than Go's of
// today do has columns only if it was done.
func (j *Judgement) delays() *textfmt.Table {
	t, _ := j.delayed()
	if t.Affected == 0 {
		return nil
	}
	all := j.sum(func(*Row) bool { return true })
	g := &textfmt.Table{}
	row := func(cells []string, blocking, oneStop, first string) {
		if all.FullBlocking > 0 {
			cells = append(cells, blocking)
		}
		if all.OneStop > 0 {
			cells = append(cells, oneStop)
		}
		g.Row(append(cells, first)...)
	}
	row([]string{"", "fide-", "", "of", "their", "of all", "by", "by"}, "full", "two in", "their first")
	row([]string{"latency", "lity", "delayed", "all %", "time %", "time %", "one", "more"}, "block.", "a stop", "stall")
	for i := range j.Rows {
		if r := &j.Rows[i]; r.Affected > 0 {
			row(r.delayCells(), number(r.FullBlocking), number(r.OneStop), stallsOf(&r.AffectedShare)[0].String())
		}
	}
	return g
}

func (row *Row) delayCells() []string {
	// The counts are of what is certain, so only times are bounds.
	atMost := func(f float64, s *stall.Share) string {
		text := cell(f)
		if row.Fidelity == stall.Cycle && s.Uncertain == 0 && !strings.HasPrefix(text, "<") {
			return "≤" + text
		}
		return text
	}
	ofAll, ofDelayed := row.GCShare()
	return []string{
		bandTitles[row.Band], row.Fidelity.String(), number(row.Affected),
		cell(fraction(row.Affected, row.Requests)), atMost(ofDelayed, &row.AffectedShare), atMost(ofAll, &row.Share),
		number(row.Affected - row.Several), number(row.Several),
	}
}

func number(n int) string {
	if n == 0 {
		return "·"
	}
	return textfmt.Count(n)
}
