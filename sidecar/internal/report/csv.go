package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Columns are those of the table that PerfView's GCStats opens in Excel
// (PerfView, src/PerfView/GcStats.cs, ToCsv), then ours. Milliseconds and
// megabytes of 10^6 are GCStats' units; ours say theirs.
//
// "Time In GC" there is a share of CPU samples, which no file here holds: it is
// empty. PauseMSec is our pause, to where the world runs again; the column
// PauseMax ns is its upper bound, by which GCStats' own figure goes. The rows of
// a recording say last whose they are.
func (r *Report) columns() []string {
	c := []string{
		"Num", "PauseStart", "Reason", "Gen", "PauseMSec", "Time In GC", "AllocMB", "Alloc MB/sec", "PeakMB", "AfterMB",
		"Peak/After Ratio", "PromotedMB",
	}
	for _, g := range []string{"Gen0", "Gen1", "Gen2", "LOH"} {
		c = append(c, g+" Size", g+" Surv%", g+" Frag%")
	}
	c = append(c, "FinalizeSurviveMB", "Pinned Object", "% Pause Time", "Suspend Msec",
		"POH Size", "POH Surv%", "POH Frag%", "Kind", "Start ns", "Pause ns", "PauseMax ns", "% Time in GC", "Finalizable", "Incomplete")
	if r.Experiment != nil {
		c = append(c, "Target", "PID")
	}
	return c
}

// PrintCSV writes one row for each collection, process by process. What is not
// known is empty.
func (r *Report) PrintCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	err := w.Write(r.columns())
	parts := r.parts()
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		t := newTable(parts[id])
		for i := range t.Collections {
			row := t.row(i)
			if r.Experiment != nil {
				row = append(row, strconv.Itoa(id), strconv.Itoa(t.Source.PID))
			}
			if err == nil {
				err = w.Write(row)
			}
		}
	}
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	if err != nil {
		return fmt.Errorf("print csv: %w", err)
	}
	return nil
}

// csvTable is a table of one process under way.
type csvTable struct {
	*Report
	inGC    map[int]float64 // by number in the file
	restart stall.Instant   // the end of the last pause so far, zero before
	gen0    gc.Maybe[gc.Bytes]
}

func newTable(r *Report) *csvTable {
	t := &csvTable{Report: r, inGC: map[int]float64{}}
	for _, s := range r.TimeInGC() {
		t.inGC[s.Number] = s.Share
	}
	return t
}

func (t *csvTable) row(i int) []string {
	c := &t.Collections[i].Collection
	start, pause, longest := pausesOf(c)
	var idle time.Duration // since the last restart
	if t.restart != 0 {
		idle = start.Sub(t.restart)
	}
	allocated := t.allocated(c)
	row := []string{
		numberOf(c.Index, i), milliseconds(t.since(start)), printable(string(c.Trigger)), genName(&t.Collections[i]), milliseconds(pause), "",
		megabytes(allocated), rate(allocated, idle), megabytes(t.peak(i)), megabytes(c.HeapAfter),
		decimal(ratio(t.peak(i), c.HeapAfter), 1, 2), megabytes(c.Promoted),
	}
	for id := gc.Gen0; id <= gc.LOH; id++ {
		row = append(row, genCells(c, id)...)
	}
	share := gc.Maybe[float64]{}
	if idle > 0 {
		share = gc.Known(float64(pause) / float64(pause+idle))
	}
	row = append(row, "", whole(c.Pinned), decimal(share, 100, 1), suspends(c))
	row = append(row, genCells(c, gc.POH)...)
	inGC := gc.Maybe[float64]{}
	if v, ok := t.inGC[i+1]; ok {
		inGC = gc.Known(v)
	}
	if n := len(c.Pauses); n > 0 {
		t.restart = c.Pauses[n-1].End
	}
	return append(row, c.Kind.String(), strconv.FormatInt(int64(start), 10), strconv.FormatInt(int64(pause), 10),
		strconv.FormatInt(int64(longest), 10), decimal(inGC, 100, 3), whole(c.Finalizable), printable(c.Incomplete))
}

// pausesOf returns where the first pause begins, and the sums of the pauses and
// of their upper bounds.
func pausesOf(c *gc.Collection) (start stall.Instant, pause, longest time.Duration) {
	start = c.Start.Or(0)
	for i, p := range c.Pauses {
		if i == 0 {
			start = p.Start
		}
		pause += p.Duration()
		longest += max(p.End, p.EndMax).Sub(p.Start)
	}
	return start, pause, longest
}

// allocated returns what was allocated in generation 0 since the collection
// before, as GCStats has it; in Go it is not known.
func (t *csvTable) allocated(c *gc.Collection) gc.Maybe[gc.Bytes] {
	g := part(c, gc.Gen0)
	if g == nil {
		t.gen0 = gc.Maybe[gc.Bytes]{}
		return t.gen0
	}
	a := minus(objectsBefore(g), t.gen0)
	t.gen0 = objectsAfter(g)
	return a
}

// peak returns the largest heap before c, and of a background collection before
// those within it too.
func (t *csvTable) peak(i int) gc.Maybe[gc.Bytes] {
	c := &t.Collections[i].Collection
	peak := c.HeapBefore
	if c.Kind != gc.Background || !t.Source.dotnet {
		return peak
	}
	for k := i + 1; k < len(t.Collections) && t.Collections[k].Start.Or(0) < c.End.Or(0); k++ {
		if b, ok := t.Collections[k].HeapBefore.Get(); ok {
			peak = gc.Known(max(b, peak.Or(0)))
		}
	}
	return peak
}
