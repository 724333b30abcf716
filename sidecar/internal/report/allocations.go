package report

import (
	"fmt"
	"io"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// shownAllocators bounds the threads that are printed.
const shownAllocators = 10

// DocAllocations is who allocated, by the AllocationTick events of a verbose
// file: a sample. What all threads allocated between two events is put down to
// the thread that fired the second.
type DocAllocations struct {
	Sampled bool           `json:"sampled"` // always
	Samples uint64         `json:"samples"`
	Bytes   uint64         `json:"bytes"`
	Threads []DocAllocator `json:"threads"` // the most first; 0 is all that are too many
}

// DocAllocator is one thread; sizes are bytes.
type DocAllocator struct {
	Thread  uint64 `json:"thread"`
	Samples uint64 `json:"samples"`
	SOH     uint64 `json:"soh"` // small objects
	LOH     uint64 `json:"loh"`
	POH     uint64 `json:"poh"`
}

func (a *DocAllocator) bytes() uint64 { return a.SOH + a.LOH + a.POH }

// allocations returns who allocated, nil if the file does not say.
func (r *Report) allocations() *DocAllocations {
	if len(r.Allocations) == 0 {
		return nil
	}
	d := &DocAllocations{Sampled: true}
	for i := range r.Allocations {
		a := &r.Allocations[i]
		t := DocAllocator{a.Thread, a.Samples, uint64(a.SOH), uint64(a.LOH), uint64(a.POH)}
		d.Samples += t.Samples
		d.Bytes += t.bytes()
		d.Threads = append(d.Threads, t)
	}
	return d
}

// printAllocations writes who allocated the most.
func (r *Report) printAllocations(w io.Writer) {
	d := r.allocations()
	if d == nil {
		return
	}
	textfmt.Heading(w, "WHO ALLOCATED", "sampled: an event about every 100 kB, put down to the thread that fired it")
	var g textfmt.Table
	g.Row("thread", "events", "small", "large", "pinned", "of all")
	for i := range d.Threads[:min(shownAllocators, len(d.Threads))] {
		t := &d.Threads[i]
		name := fmt.Sprint(t.Thread)
		if t.Thread == 0 {
			name = "others"
		}
		g.Row(name, textfmt.Count(t.Samples), size(gc.Bytes(t.SOH)), size(gc.Bytes(t.LOH)), size(gc.Bytes(t.POH)),
			percent(float64(t.bytes())/float64(max(1, d.Bytes))))
	}
	g.Print(w)
	if more := len(d.Threads) - shownAllocators; more > 0 {
		fmt.Fprintf(w, "  and %s more (all of them with --json)\n", textfmt.Many(more, "thread"))
	}
}
