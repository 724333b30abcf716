package report

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// PrintPerfView writes each pause by TraceEvent's own rule, which PerfView's
// GCStats shows, beside ours. Of a file that PerfView does not read, one line
// says so.
func (r *Report) PrintPerfView(to io.Writer) error {
	w := bufio.NewWriter(to)
	name := printable(filepath.Base(r.Source.File))
	if r.Source.dotnet {
		r.printPerfView(w, name)
	} else {
		fmt.Fprintf(w, "%s: PerfView reads no %s: nothing to compare\n", name, r.Source.Format)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

const whyPerfView = "PerfView lets a pause last until RestartEEEnd, an event that the restarting thread fires when it next has the CPU; " +
	"the program already runs from RestartEEBegin on, where our pause ends. And: when a background collection begins with an ephemeral " +
	"one in the same stop, PerfView splits it at GCStart, and we charge all of it to the ephemeral one; of a collection that was announced as " +
	"background and ran blocking, PerfView counts only the time to suspend."

func (r *Report) printPerfView(w io.Writer, name string) {
	fmt.Fprintf(w, "PAUSES OF %s AS PERFVIEW HAS THEM, AND AS WE DO\n\n", name)
	if len(r.Collections) == 0 {
		fmt.Fprintln(w, "  "+r.Sentence())
		return
	}
	textfmt.Wrap(w, "  ", "  ", whyPerfView)
	fmt.Fprintln(w)
	g := textfmt.Table{Left: map[int]bool{1: true}}
	g.Row("GC", "gen", "at", "PerfView", "ours", "difference", "to suspend")
	var theirs, ours time.Duration
	compared := 0
	for i := range r.Collections {
		c := &r.Collections[i]
		start, pause, _ := pausesOf(&c.Collection)
		p, ok := c.PerfView.Get()
		difference := none
		if ok {
			theirs, ours, compared = theirs+p, ours+pause, compared+1
			difference = signed(p - pause)
		}
		g.Row(fmt.Sprint(c.Index), genName(c), "+"+seconds(r.since(start)), maybeExact(c.PerfView), exactLength(pause), difference, exactSuspend(&c.Collection))
	}
	g.Row("all", "", "", exactLength(theirs), exactLength(ours), signed(theirs-ours), "")
	g.Print(w)
	fmt.Fprintf(w, "\n  milliseconds; gen as in GCStats: N blocking, B background, F within a background one, I induced\n")
	if left := len(r.Collections) - compared; left > 0 {
		fmt.Fprintf(w, "  %s without all events of its stops: %s, and not in the sums\n", textfmt.Many(left, "collection"), none)
	}
}

// exactLength writes d in milliseconds, to the nanosecond.
func exactLength(d time.Duration) string { return fmt.Sprintf("%.6f", float64(d)/1e6) }

func maybeExact(d gc.Maybe[time.Duration]) string {
	if v, ok := d.Get(); ok {
		return exactLength(v)
	}
	return none
}

func signed(d time.Duration) string { return fmt.Sprintf("%+.6f", float64(d)/1e6) }

func exactSuspend(c *gc.Collection) string {
	if s := suspends(c); s != "" {
		return s
	}
	return none
}
