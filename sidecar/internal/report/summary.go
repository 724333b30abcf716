package report

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Summary sums up the collections and stops of one process.
type Summary struct {
	Before     gc.Maybe[uint64]        `json:"collections_before,omitzero"` // of the process, before the file, where the file counts them
	Pause      time.Duration           `json:"pause"`                       // of all collections
	PauseShare gc.Maybe[float64]       `json:"pause_share,omitzero"`        // of the time in the file; in a recording of that in which it was watched
	Suspend    gc.Maybe[time.Duration] `json:"suspend,omitzero"`            // what it took to stop the threads, as far as it is known
	// TimeInGC is the "% time in GC" of the last collection, 0 to 1.
	TimeInGC gc.Maybe[float64] `json:"time_in_gc,omitzero"`
	Pauses   map[string]Spread `json:"pauses"` // by kind, one sample per stop
	Rollup   []Row             `json:"rollup"`
	Reasons  map[string]Spread `json:"suspensions"`        // by reason
	Requests []Latency         `json:"requests,omitempty"` // that package otelgc marked, in a Go trace
	Assist   *Effort           `json:"assist,omitempty"`   // of a Go trace
	Sweep    *Effort           `json:"sweep,omitempty"`
}

func (r *Report) sumUp(s *Summary) {
	s.Pauses, s.Rollup, s.Reasons = map[string]Spread{}, []Row{}, map[string]Spread{}
	first := ^uint64(0)
	for _, c := range r.Collections {
		first = min(first, c.Index)
		s.Pause += c.PauseTotal()
		if d, ok := suspendOf(&c.Collection).Get(); ok {
			s.Suspend = gc.Known(s.Suspend.Or(0) + d)
		}
	}
	if len(r.Collections) > 0 && first > 0 {
		s.Before = gc.Known(first - 1)
	}
	s.PauseShare = share(s.Pause, r.Source.Duration())
	for _, c := range r.byRestart() {
		if !c.TimeInGC.IsZero() {
			s.TimeInGC = c.TimeInGC
		}
	}
	for kind := gc.NoKind + 1; kind < gc.NumKinds; kind++ {
		if p := r.PausesOf(kind); p.Count > 0 {
			s.Pauses[kind.String()] = p
		}
	}
	for _, row := range r.rollup() {
		if row.Count > 0 {
			s.Rollup = append(s.Rollup, row)
		}
	}
	for _, reason := range r.reasons() {
		s.Reasons[reason.name] = reason.Spread
	}
}

// suspendOf returns the time it took to stop the threads, of all pauses of which it
// is known.
func suspendOf(c *gc.Collection) (sum gc.Maybe[time.Duration]) {
	for _, p := range c.Pauses {
		if d, ok := p.Suspend.Get(); ok {
			sum = gc.Known(sum.Or(0) + d)
		}
	}
	return sum
}

// byRestart returns the collections in order of when the threads resumed after them.
func (r *Report) byRestart() []*Collection {
	return slices.SortedStableFunc(slices.Values(r.Collections), func(a, b *Collection) int { return cmp.Compare(a.restart(), b.restart()) })
}

func (c *Collection) restart() (end stall.Instant) {
	for _, p := range c.Pauses {
		end = max(end, p.End)
	}
	return end
}

// timeInGC sets the "% time in GC" of each collection but the first of each process, as
// the runtime's counter has it:
//
//	(TB(n) - TA(n)) / (TB(n) - TB(n-1))
//
// TA is when the threads were suspended, TB just before they resume. It is not known where
// the file does not say how long the suspensions took, as a Go trace does not.
func (r *Report) timeInGC() {
	last := make(map[int]stall.Instant) // TB, by target
	for _, c := range r.byRestart() {
		inside, known := time.Duration(0), len(c.Pauses) > 0
		for _, p := range c.Pauses {
			known = known && !p.Suspend.IsZero()
			inside += p.Duration() - p.Suspend.Or(0)
		}
		if !known {
			continue
		}
		end := c.restart()
		if before, any := last[c.Target]; any {
			c.TimeInGC = share(inside, end.Sub(before))
		}
		last[c.Target] = end
	}
}

// beyond is how many samples have to lie beyond a quantile that is reported:
// p99.9 needs 10,000 of them, p99 1,000, p90 100, the median 20.
const beyond = 10

// Spread is a distribution of lengths.
type Spread struct {
	Count int                     `json:"count"`
	P50   gc.Maybe[time.Duration] `json:"p50,omitzero"`
	P90   gc.Maybe[time.Duration] `json:"p90,omitzero"`
	P99   gc.Maybe[time.Duration] `json:"p99,omitzero"`
	P999  gc.Maybe[time.Duration] `json:"p999,omitzero"`
	Max   time.Duration           `json:"max"`
	Total time.Duration           `json:"total"`
}

// quantile is one of a Spread.
type quantile struct {
	name     string
	permille int
}

var quantiles = [...]quantile{{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}}

// rank returns how many of n samples are within q, by the nearest rank, and whether
// there are enough beyond it.
func (q quantile) rank(n int) (rank int, ok bool) {
	return textfmt.Rank(q.permille, n), n*(1000-q.permille) >= beyond*1000
}

// spreadOf returns the distribution of list, and leaves it sorted.
func spreadOf(list []time.Duration) Spread {
	s := Spread{Count: len(list)}
	if s.Count == 0 {
		return s
	}
	slices.Sort(list)
	s.Max = list[s.Count-1]
	for _, d := range list {
		s.Total += d
	}
	for i, to := range []*gc.Maybe[time.Duration]{&s.P50, &s.P90, &s.P99, &s.P999} {
		if rank, ok := quantiles[i].rank(s.Count); ok {
			*to = gc.Known(list[rank-1])
		}
	}
	return s
}

// pauses yields each pause and its collection.
func (r *Report) pauses() iter.Seq2[*Collection, gc.Pause] {
	return func(yield func(*Collection, gc.Pause) bool) {
		for _, c := range r.Collections {
			for _, p := range c.Pauses {
				if !yield(c, p) {
					return
				}
			}
		}
	}
}

// PausesOf returns the distribution of the pauses of the collections of a kind,
// one sample for each stop of the world.
func (r *Report) PausesOf(kind gc.Kind) Spread {
	var list []time.Duration
	for c, p := range r.pauses() {
		if c.Kind == kind {
			list = append(list, p.Duration())
		}
	}
	return spreadOf(list)
}

// pausesOf returns the pauses of a target, of all for 0. Their Ref is the number of the
// collection in the file.
func (r *Report) pausesOf(target int) (list []stall.Interval) {
	for c, p := range r.pauses() {
		if target == 0 || c.Target == target {
			list = append(list, stall.Interval{Start: p.Start, End: p.End, Slack: p.Slack, Cause: stall.GCPause, Ref: uint64(c.number)})
		}
	}
	return list
}

// reason sums up the suspensions of one reason.
type reason struct {
	name string
	Spread
	callers []string // functions that stopped the world, the most frequent first
}

// reasons sums up the stops that were not for garbage collection, those that
// took the most time first.
func (r *Report) reasons() (list []reason) {
	type call struct{ reason, by string }
	lengths, calls, callers := map[string][]time.Duration{}, map[call]int{}, map[string][]string{}
	for i := range r.Suspensions {
		s := &r.Suspensions[i]
		lengths[s.Reason] = append(lengths[s.Reason], s.Duration())
		if s.Caller != "" {
			calls[call{s.Reason, s.Caller}]++
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(calls), func(a, b call) int {
		return cmp.Or(cmp.Compare(calls[b], calls[a]), cmp.Compare(a.by, b.by))
	}) {
		callers[c.reason] = append(callers[c.reason], c.by)
	}
	for name, l := range lengths {
		list = append(list, reason{name, spreadOf(l), callers[name]})
	}
	slices.SortFunc(list, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.name, b.name))
	})
	return list
}

// Row sums up some of the collections. Pauses are sums per collection here: a
// background collection of two pauses is one sample.
type Row struct {
	Title     string        `json:"title"`
	Count     int           `json:"count"`
	Induced   int           `json:"induced"` // by the program, not by the runtime
	MaxPause  time.Duration `json:"max_pause"`
	MeanPause time.Duration `json:"mean_pause"`
	Pause     time.Duration `json:"pause"` // of all
	// Promoted is the sum of what survived, where it is known.
	Promoted gc.Maybe[gc.Bytes] `json:"promoted,omitzero"`
	// HeapBefore and HeapAfter are means.
	HeapBefore gc.Maybe[gc.Bytes] `json:"heap_before,omitzero"`
	HeapAfter  gc.Maybe[gc.Bytes] `json:"heap_after,omitzero"`
	// Survival is the mean share of what the collected generations held that
	// survived; Fragmentation the mean share of the heap that was free after.
	Survival      gc.Maybe[float64] `json:"survival,omitzero"`
	Fragmentation gc.Maybe[float64] `json:"fragmentation,omitzero"`
}

// mean is a mean under way.
type mean[T gc.Bytes | float64] struct {
	sum float64
	n   int
}

func (m *mean[T]) add(v gc.Maybe[T]) {
	if !v.IsZero() {
		m.sum += float64(v.Or(0))
		m.n++
	}
}

func (m *mean[T]) value() (v gc.Maybe[T]) {
	if m.n > 0 {
		v = gc.Known(T(m.sum / float64(m.n)))
	}
	return v
}

// class is a set of collections that has a row.
type class struct {
	title string
	has   func(*gc.Collection) bool
}

// titleAll is that of the row with all collections.
const titleAll = "all"

func generation(title string, g int, kind gc.Kind) class {
	return class{title, func(c *gc.Collection) bool {
		return c.Generation == gc.Known(g) && (kind == gc.NoKind || c.Kind == kind)
	}}
}

func trigger(title string, t gc.Trigger) class {
	return class{title, func(c *gc.Collection) bool { return c.Trigger == t }}
}

var all = class{titleAll, func(*gc.Collection) bool { return true }}

// dotnetClasses are the rows that users of GCStats know, generation 2 in two.
var dotnetClasses = []class{
	all, generation("gen 0", 0, gc.NoKind), generation("gen 1", 1, gc.NoKind),
	generation("gen 2, blocking", 2, gc.FullBlocking), generation("gen 2, background", 2, gc.Background),
}

// goClasses are rows for a collector without generations.
var goClasses = []class{
	all, trigger("heap trigger", gc.TriggerHeap), trigger("forced", gc.TriggerForced),
	trigger("periodic", gc.TriggerPeriodic), trigger("trigger unknown", gc.TriggerUnknown),
}

// rollup sums up the collections: all of them, then by generation, or by
// trigger where the collector knows no generations.
func (r *Report) rollup() (rows []Row) {
	classes := goClasses
	if r.Source.dotnet {
		classes = dotnetClasses
	}
	for _, class := range classes {
		rows = append(rows, r.row(class))
	}
	return rows
}

func (r *Report) row(class class) Row {
	row := Row{Title: class.title}
	var before, after mean[gc.Bytes]
	var survived, fragmented mean[float64]
	for _, all := range r.Collections {
		c := &all.Collection
		if !class.has(c) {
			continue
		}
		row.Count++
		// The program asked for it: runtime.GC, GC.Collect.
		if c.Trigger == gc.TriggerForced || strings.HasPrefix(strings.ToLower(string(c.Trigger)), "induced") {
			row.Induced++
		}
		pause := c.PauseTotal()
		row.Pause += pause
		row.MaxPause = max(row.MaxPause, pause)
		row.MeanPause = row.Pause / time.Duration(row.Count)
		if p, ok := c.Promoted.Get(); ok {
			row.Promoted = gc.Known(row.Promoted.Or(0) + p)
		}
		before.add(c.HeapBefore)
		after.add(c.HeapAfter)
		survived.add(survivalOf(c.Generations...))
		fragmented.add(ratio(c.FragmentationAfter, c.HeapAfter))
	}
	row.HeapBefore, row.HeapAfter, row.Survival, row.Fragmentation = before.value(), after.value(), survived.value(), fragmented.value()
	return row
}

// share returns part/whole, unknown where whole is none.
func share[T ~int64 | ~uint64](part, whole T) gc.Maybe[float64] {
	if whole <= 0 {
		return gc.Maybe[float64]{}
	}
	return gc.Known(textfmt.Ratio(part, whole))
}

// ratio returns part/whole, unknown if either is, or if the whole is zero.
func ratio(part, whole gc.Maybe[gc.Bytes]) gc.Maybe[float64] {
	if part.IsZero() {
		return gc.Maybe[float64]{}
	}
	return share(part.Or(0), whole.Or(0))
}

// minus returns a - b, unknown if either is, or if it would be below zero.
func minus(a, b gc.Maybe[gc.Bytes]) gc.Maybe[gc.Bytes] {
	if a.IsZero() || b.IsZero() || b.Or(0) > a.Or(0) {
		return gc.Maybe[gc.Bytes]{}
	}
	return gc.Known(a.Or(0) - b.Or(0))
}

// objectsBefore and objectsAfter return the size of the objects in g.
func objectsBefore(g *gc.Generation) gc.Maybe[gc.Bytes] {
	return minus(g.SizeBefore, g.FragmentationBefore)
}

func objectsAfter(g *gc.Generation) gc.Maybe[gc.Bytes] {
	return minus(g.SizeAfter, g.FragmentationAfter)
}

// survivalOf returns the share of the objects of those generations that were
// collected that survived. A Go program allocates while it is collected, so there is
// no such share.
func survivalOf(generations ...gc.Generation) gc.Maybe[float64] {
	var objects, survived gc.Bytes
	for i := range generations {
		g := &generations[i]
		if o, ok := objectsBefore(g).Get(); ok && !g.Survived.IsZero() {
			objects, survived = objects+o, survived+g.Survived.Or(0)
		}
	}
	return share(survived, objects)
}

// part returns generation id of c, nil if it is not known.
func part(c *gc.Collection, id gc.GenerationID) *gc.Generation {
	for i := range c.Generations {
		if c.Generations[i].ID == id {
			return &c.Generations[i]
		}
	}
	return nil
}
