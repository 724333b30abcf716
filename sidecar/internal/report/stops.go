package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func (r *Report) printLongest(w io.Writer) {
	list := r.LongestPauses(shownPauses)
	if len(list) == 0 {
		return
	}
	textfmt.Heading(w, "THE LONGEST PAUSES", "when, in which collection, and why there was one")
	g := textfmt.Table{Left: map[int]bool{2: true, 3: true}}
	details := detailsOf(list)
	if len(details) > 0 {
		upper, lower := make([]string, 4), make([]string, 4)
		for _, d := range details {
			upper, lower = append(upper, d.upper), append(lower, d.lower)
		}
		g.Row(upper...)
		g.Row(lower...)
	}
	for i := range list {
		s := &list[i]
		cells := []string{textfmt.Length(s.Pause.Duration()), "at +" + seconds(r.since(s.Pause.Start)), s.name(), s.why()}
		for _, d := range details {
			cells = append(cells, d.of(s))
		}
		g.Row(cells...)
	}
	g.Print(w)
}

// detail is a column about pauses, under two words.
type detail struct {
	upper, lower string
	of           func(*Stop) string
}

// detailsOf returns the columns that have something to say. What the machine took of
// a pause is said of each for which it is known: that a collection was long for its
// work takes others to compare it with, and the rare kinds have none.
func detailsOf(list []Stop) (all []detail) {
	some := func(is func(*Stop) bool) bool {
		return slices.ContainsFunc(list, func(s Stop) bool { return is(&s) })
	}
	placed := some(func(s *Stop) bool { return !s.Suspend.IsZero() || s.longer() > 0 })
	if placed {
		all = append(all, detail{"of it to", "suspend", func(s *Stop) string { return maybeLength(s.Suspend) }})
	}
	if some(func(s *Stop) bool { return s.Pause.HostDuring.CPUWait.Or(0) > 0 }) {
		all = append(all, detail{"without", "a CPU", func(s *Stop) string { return maybeLength(s.Pause.HostDuring.CPUWait) }})
	}
	if some(func(s *Stop) bool { return s.Pause.HostDuring.PageWait.Or(0) > 0 }) {
		all = append(all, detail{"for pages", "from disk", func(s *Stop) string { return maybeLength(s.Pause.HostDuring.PageWait) }})
	}
	if placed {
		all = append(all, detail{"perhaps", "longer by", func(s *Stop) string { return textfmt.Length(s.longer()) }})
	}
	return all
}

// longer returns by how much the pause may have been longer. A Go trace has
// goroutines run by the end: that the runtime stamps its own later says nothing.
func (s *Stop) longer() time.Duration {
	if s.Origin == stall.GoTrace {
		return 0
	}
	return max(0, s.EndMax.Sub(s.Pause.End))
}

// name says which collection it is, by the process's count or else the file's.
func (s *Stop) name() string {
	number := fmt.Sprintf("#%d", s.Number)
	if s.Index > 0 {
		number = fmt.Sprintf("GC %d", s.Index)
	}
	if g, ok := s.Generation.Get(); ok {
		number += fmt.Sprintf(", gen %d", g)
	}
	return number + " " + strings.ReplaceAll(s.Kind.String(), "_", " ")
}

// why says in what part of the collection, and why there was one.
func (s *Stop) why() string {
	text := printable(string(s.Trigger))
	if s.Trigger == "" || s.Trigger == gc.TriggerUnknown {
		text = "trigger not known"
	}
	if s.Phase != gc.PhaseUnknown {
		text = strings.ReplaceAll(s.Phase.String(), "_", " ") + ", " + text
	}
	if s.TriggerSite != "" {
		text += " by " + printable(s.TriggerSite)
	}
	return text
}

// Reason sums up the suspensions of one reason.
type Reason struct {
	Reason string
	Spread
	Callers []string // who stopped the world, the most frequent first
}

// Reasons sums up the stops that were not for garbage collection, those that
// took the most time first.
func (r *Report) Reasons() []Reason {
	lengths, callers := map[string][]time.Duration{}, map[string]map[string]int{}
	for i := range r.Suspensions {
		s := &r.Suspensions[i]
		lengths[s.Reason] = append(lengths[s.Reason], s.Duration())
		if s.Caller == "" {
			continue
		}
		if callers[s.Reason] == nil {
			callers[s.Reason] = map[string]int{}
		}
		callers[s.Reason][s.Caller]++
	}
	var list []Reason
	for reason, l := range lengths {
		list = append(list, Reason{reason, spreadOf(l), byCount(callers[reason])})
	}
	slices.SortFunc(list, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

func byCount(n map[string]int) []string {
	var names []string
	for name := range n {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	return names
}

func (r *Report) printSuspensions(w io.Writer) {
	textfmt.Heading(w, "STOPS THAT WERE NOT FOR GARBAGE COLLECTION", "")
	list := r.Reasons()
	if len(list) == 0 {
		fmt.Fprintln(w, "  none")
		return
	}
	g := textfmt.Table{Left: map[int]bool{5: true}}
	g.Row("reason", "stops", "p50", "max", "total", "by")
	for i := range list {
		s := &list[i]
		g.Row(printable(s.Reason), textfmt.Count(s.Count), maybeLength(s.P50), textfmt.Length(s.Max), textfmt.Length(s.Total), s.by())
	}
	g.Print(w)
}

// by names the callers that come first, and how many there are besides.
func (s *Reason) by() string {
	shown := s.Callers[:min(len(s.Callers), shownCallers)]
	text := printable(strings.Join(shown, ", "))
	if more := len(s.Callers) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %s more", textfmt.Count(more))
	}
	return text
}
