package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// PrintCSV writes one row for each collection, process by process. What is not known is
// empty.
func (r *Report) PrintCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	write := func(pairs []string, from int) {
		var row []string
		for i := from; i < len(pairs); i += 2 {
			row = append(row, pairs[i])
		}
		_ = w.Write(row) // the error stays, for Error
	}
	none := statsTable{Report: &Report{Collections: []*Collection{{}}}, recording: r.Experiment != nil}
	write(none.row(0), 0)
	parts := r.parts()
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		t := statsTable{Report: parts[id], recording: none.recording}
		for i := range t.Collections {
			write(t.row(i), 1)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("print csv: %w", err)
	}
	return nil
}

// parts returns a report for each process of a recording, by ID, with its
// collections by their start; any other file is of one process.
func (r *Report) parts() map[int]*Report {
	if r.Experiment == nil {
		return map[int]*Report{0: r}
	}
	parts := make(map[int]*Report)
	for _, c := range r.Collections {
		id := c.Target
		if parts[id] != nil {
			continue
		}
		parts[id] = r.only(id)
		slices.SortStableFunc(parts[id].Collections, func(a, b *Collection) int {
			first, _, _ := pausesIn(&a.Collection)
			second, _, _ := pausesIn(&b.Collection)
			return cmp.Compare(first, second)
		})
	}
	return parts
}

// statsTable is the table of one process, row by row.
type statsTable struct {
	*Report
	recording bool          // the rows end with their process
	restart   stall.Instant // the end of the last pause so far, zero before
	gen0      gc.Maybe[gc.Bytes]
}

// row returns the names of the columns, each with its value for a collection after it.
// The columns are those of the table that PerfView's GCStats opens in Excel (PerfView,
// src/PerfView/GcStats.cs, ToCsv), then ours. Milliseconds and megabytes of 10^6 are
// GCStats' units; the names of ours have theirs.
//
// "Time In GC" there is a share of CPU samples, which no file here holds: it is
// empty. PauseMSec is our pause, to where the world runs again; the column
// PauseMax ns is its upper bound, by which GCStats' own figure goes.
func (t *statsTable) row(i int) []string {
	c := t.Collections[i]
	start, pause, longest := pausesIn(&c.Collection)
	var idle time.Duration // since the last restart
	if t.restart != 0 {
		idle = start.Sub(t.restart)
	}
	if n := len(c.Pauses); n > 0 {
		t.restart = c.Pauses[n-1].End
	}
	number := cmp.Or(c.Index, uint64(i+1)) // or the file's
	allocated, speed, paused := t.allocated(&c.Collection), "", gc.Maybe[float64]{}
	if idle > 0 {
		speed, paused = decimal(allocated, 1e-6/idle.Seconds(), 2), share(pause, pause+idle)
	}
	peak, suspend := t.peak(i), ""
	if d, ok := suspendOf(&c.Collection).Get(); ok {
		suspend = milliseconds(d)
	}
	row := []string{
		"Num", strconv.FormatUint(number, 10), "PauseStart", milliseconds(t.since(start)), "Reason", textfmt.Printable(string(c.Trigger)),
		"Gen", genName(c), "PauseMSec", milliseconds(pause), "Time In GC", "",
		"AllocMB", megabytes(allocated), "Alloc MB/sec", speed, "PeakMB", megabytes(peak), "AfterMB", megabytes(c.HeapAfter),
		"Peak/After Ratio", decimal(ratio(peak, c.HeapAfter), 1, 2), "PromotedMB", megabytes(c.Promoted),
	}
	for id, name := range []string{"Gen0", "Gen1", "Gen2", "LOH"} {
		row = append(row, genCells(name, &c.Collection, gc.Gen0+gc.GenerationID(id))...)
	}
	row = append(row, "FinalizeSurviveMB", "", "Pinned Object", decimal(c.Pinned, 1, 0), "% Pause Time", decimal(paused, 100, 1), "Suspend Msec", suspend)
	row = append(row, genCells("POH", &c.Collection, gc.POH)...)
	row = append(row, "Kind", c.Kind.String(), "Start ns", strconv.FormatInt(int64(start), 10), "Pause ns", strconv.FormatInt(int64(pause), 10),
		"PauseMax ns", strconv.FormatInt(int64(longest), 10), "% Time in GC", decimal(c.TimeInGC, 100, 3),
		"Finalizable", decimal(c.Finalizable, 1, 0), "Incomplete", textfmt.Printable(c.Incomplete))
	if t.recording {
		row = append(row, "Target", strconv.Itoa(c.Target), "PID", strconv.Itoa(t.Source.PID))
	}
	return row
}

// pausesIn returns where the first pause begins, and the sums of the pauses and
// of their upper bounds.
func pausesIn(c *gc.Collection) (start stall.Instant, pause, longest time.Duration) {
	start = c.Start.Or(0)
	for i, p := range c.Pauses {
		if i == 0 {
			start = p.Start
		}
		pause += p.Duration()
		longest += p.EndMax.Sub(p.Start)
	}
	return start, pause, longest
}

// allocated returns what was allocated in generation 0 since the collection
// before, as GCStats has it; in Go it is not known.
func (t *statsTable) allocated(c *gc.Collection) (a gc.Maybe[gc.Bytes]) {
	g := part(c, gc.Gen0)
	if g == nil {
		g = &gc.Generation{}
	}
	a = minus(objectsBefore(g), t.gen0)
	t.gen0 = objectsAfter(g)
	return a
}

// peak returns the largest heap before c, and of a background collection before
// those within it too.
func (t *statsTable) peak(i int) gc.Maybe[gc.Bytes] {
	c := &t.Collections[i].Collection
	peak := c.HeapBefore
	if c.Kind != gc.Background || !t.Source.dotnet {
		return peak
	}
	for _, within := range t.Collections[i+1:] {
		if within.Start.Or(0) >= c.End.Or(0) {
			break
		}
		if b, ok := within.HeapBefore.Get(); ok {
			peak = gc.Known(max(b, peak.Or(0)))
		}
	}
	return peak
}

// genName writes the generation as GCStats does: 0N, 1F, 2B, by what was
// announced, with I or i if the program asked for it.
func genName(c *Collection) string {
	g, ok := c.Generation.Get()
	if !ok {
		return ""
	}
	name := strconv.Itoa(g)
	if len(c.announced) > 0 {
		name += c.announced[:1]
	}
	switch c.Trigger {
	case "Induced":
		name += "I"
	case "InducedNotForced":
		name += "i"
	}
	return name
}

func genCells(name string, c *gc.Collection, id gc.GenerationID) []string {
	var size, survival, free string
	if g := part(c, id); g != nil {
		size, survival, free = megabytes(g.SizeAfter), decimal(survivalOf(*g), 100, 0), decimal(ratio(g.FragmentationAfter, g.SizeAfter), 100, 2)
	}
	return []string{name + " Size", size, name + " Surv%", survival, name + " Frag%", free}
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/1e6, 'f', 6, 64)
}

func megabytes(b gc.Maybe[gc.Bytes]) string { return decimal(b, 1e-6, 3) }

// decimal writes a number, and nothing if it is not known.
func decimal[T float64 | uint64 | gc.Bytes](m gc.Maybe[T], scale float64, places int) string {
	if v, ok := m.Get(); ok {
		return strconv.FormatFloat(float64(v)*scale, 'f', places, 64)
	}
	return ""
}

// PrintPerfView writes each pause by TraceEvent's own rule, which PerfView's GCStats
// shows, beside ours. For a file that PerfView does not read it writes one line.
func (r *Report) PrintPerfView(to io.Writer) error {
	w := textfmt.NewText(to, textfmt.Width)
	if r.Source.dotnet {
		r.printPerfView(w)
	} else {
		w.Wrap("", "", r.name()+": PerfView reads no "+r.Source.Format+": nothing to compare")
	}
	return w.Close()
}

const whyPerfView = "PerfView lets a pause last until RestartEEEnd, an event that the restarting thread fires when it next has the CPU; " +
	"the program already runs from RestartEEBegin on, where our pause ends. And: when a background collection begins with an ephemeral " +
	"one in the same stop, PerfView splits it at GCStart, and we charge all of it to the ephemeral one; of a collection that was announced as " +
	"background and ran blocking, PerfView counts only the time to suspend."

func (r *Report) printPerfView(w *textfmt.Page) {
	w.Title("PAUSES OF %s AS PERFVIEW HAS THEM, AND AS WE DO", r.name())
	if len(r.Collections) == 0 {
		w.Say("%s", r.sentence())
		return
	}
	w.Say("%s", whyPerfView)
	w.Blank()
	g := textfmt.Table{Left: []int{1}}
	g.Row("GC", "gen", "at", "PerfView", "ours", "difference", "to suspend")
	exact := func(m gc.Maybe[time.Duration]) string {
		if d, known := m.Get(); known {
			return milliseconds(d)
		}
		return textfmt.None
	}
	signed := func(d time.Duration) string { return fmt.Sprintf("%+.6f", float64(d)/1e6) }
	var theirs, ours time.Duration
	left := 0
	for _, c := range r.Collections {
		start, pause, _ := pausesIn(&c.Collection)
		difference := textfmt.None
		if p, ok := c.perfView.Get(); ok {
			theirs, ours, difference = theirs+p, ours+pause, signed(p-pause)
		} else {
			left++
		}
		g.Row(fmt.Sprint(c.Index), genName(c), "+"+seconds(r.since(start)), exact(c.perfView), milliseconds(pause), difference, exact(suspendOf(&c.Collection)))
	}
	g.Row("all", "", "", milliseconds(theirs), milliseconds(ours), signed(theirs-ours), "")
	w.Table(&g)
	w.Blank()
	w.Say("milliseconds; gen as in GCStats: N blocking, B background, F within a background one, I induced")
	if left > 0 {
		w.Say("%s without all events of its stops: %s, and not in the sums", textfmt.Many(left, "collection"), textfmt.None)
	}
}
