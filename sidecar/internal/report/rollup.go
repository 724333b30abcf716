package report

import (
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// Row sums up some of the collections. Pauses are sums per collection here: a
// background collection of two pauses is one sample.
type Row struct {
	Title    string
	Count    int
	Induced  int // by the program, not by the runtime
	MaxPause time.Duration
	Pause    time.Duration // of all
	// Promoted is the sum of what survived, where it is known.
	Promoted gc.Maybe[gc.Bytes]
	// HeapBefore and HeapAfter are means.
	HeapBefore, HeapAfter gc.Maybe[gc.Bytes]
	// Survival is the mean share of what the collected generations held that
	// survived; Fragmentation the mean share of the heap that was free after.
	Survival, Fragmentation             gc.Maybe[float64]
	before, after, survived, fragmented mean
}

// mean is a mean under way.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(f gc.Maybe[float64]) {
	if v, ok := f.Get(); ok {
		m.sum += v
		m.n++
	}
}

func (m *mean) value() gc.Maybe[float64] {
	if m.n == 0 {
		return gc.Maybe[float64]{}
	}
	return gc.Known(m.sum / float64(m.n))
}

func (m *mean) size() gc.Maybe[gc.Bytes] {
	if v, ok := m.value().Get(); ok {
		return gc.Known(gc.Bytes(v))
	}
	return gc.Maybe[gc.Bytes]{}
}

func number(b gc.Maybe[gc.Bytes]) gc.Maybe[float64] {
	if v, ok := b.Get(); ok {
		return gc.Known(float64(v))
	}
	return gc.Maybe[float64]{}
}

// MeanPause returns the mean of the sums per collection.
func (r *Row) MeanPause() time.Duration {
	if r.Count == 0 {
		return 0
	}
	return r.Pause / time.Duration(r.Count)
}

// class is a set of collections that has a row.
type class struct {
	title string
	has   func(*gc.Collection) bool
}

func every(*gc.Collection) bool { return true }

func generation(g int, kinds ...gc.Kind) func(*gc.Collection) bool {
	return func(c *gc.Collection) bool {
		if is, ok := c.Generation.Get(); !ok || is != g {
			return false
		}
		for _, k := range kinds {
			if c.Kind == k {
				return true
			}
		}
		return len(kinds) == 0
	}
}

func trigger(t gc.Trigger) func(*gc.Collection) bool {
	return func(c *gc.Collection) bool { return c.Trigger == t }
}

// titleAll is that of the row with all collections.
const titleAll = "all"

// dotnetClasses are the rows that users of GCStats know, generation 2 in two.
var dotnetClasses = []class{
	{titleAll, every},
	{"gen 0", generation(0)},
	{"gen 1", generation(1)},
	{"gen 2, blocking", generation(2, gc.FullBlocking)},
	{"gen 2, background", generation(2, gc.Background)},
}

// goClasses are rows for a collector without generations.
var goClasses = []class{
	{titleAll, every},
	{"heap trigger", trigger(gc.TriggerHeap)},
	{"forced", trigger(gc.TriggerForced)},
	{"periodic", trigger(gc.TriggerPeriodic)},
	{"trigger unknown", trigger(gc.TriggerUnknown)},
}

// Rollup sums up the collections: all of them, then by generation, or by
// trigger where the collector knows no generations.
func (r *Report) Rollup() []Row {
	classes := goClasses
	if r.Source.dotnet {
		classes = dotnetClasses
	}
	rows := make([]Row, len(classes))
	for k, class := range classes {
		rows[k].Title = class.title
		for i := range r.Collections {
			if c := &r.Collections[i]; class.has(&c.Collection) {
				rows[k].add(&c.Collection)
			}
		}
		rows[k].settle()
	}
	return rows
}

func (r *Row) add(c *gc.Collection) {
	r.Count++
	if induced(c) {
		r.Induced++
	}
	pause := c.PauseTotal()
	r.Pause += pause
	r.MaxPause = max(r.MaxPause, pause)
	if p, ok := c.Promoted.Get(); ok {
		r.Promoted = gc.Known(r.Promoted.Or(0) + p)
	}
	r.before.add(number(c.HeapBefore))
	r.after.add(number(c.HeapAfter))
	r.survived.add(survivalOf(c))
	r.fragmented.add(ratio(c.FragmentationAfter, c.HeapAfter))
}

func (r *Row) settle() {
	r.HeapBefore, r.HeapAfter = r.before.size(), r.after.size()
	r.Survival, r.Fragmentation = r.survived.value(), r.fragmented.value()
}

// ratio returns part/whole, unknown if either is, or if the whole is zero.
func ratio(part, whole gc.Maybe[gc.Bytes]) gc.Maybe[float64] {
	p, ok := part.Get()
	w, also := whole.Get()
	if !ok || !also || w == 0 {
		return gc.Maybe[float64]{}
	}
	return gc.Known(float64(p) / float64(w))
}

// PauseTotal returns the time that the world was stopped for collections.
func (r *Report) PauseTotal() time.Duration {
	var sum time.Duration
	for i := range r.Collections {
		sum += r.Collections[i].PauseTotal()
	}
	return sum
}

// PauseShare returns the share of the file's span in which the world was
// stopped for collections.
func (r *Report) PauseShare() gc.Maybe[float64] {
	return share(r.PauseTotal(), r.Duration())
}

// share returns part/whole, unknown where whole is none.
func share(part, whole time.Duration) gc.Maybe[float64] {
	if whole <= 0 {
		return gc.Maybe[float64]{}
	}
	return gc.Known(float64(part) / float64(whole))
}
