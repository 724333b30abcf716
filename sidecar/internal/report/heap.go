package report

import (
	"io"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// printHeap writes what each generation held.
func (r *Report) printHeap(w io.Writer) {
	var g textfmt.Table
	g.Row("", "", "size", "largest", "free", "mean", "mean")
	g.Row("", "collected", "at last", "after", "at last", "free", "survival")
	rows := 0
	for id := range gc.NumGenerations {
		h := r.heapOf(id)
		if h.last == nil {
			continue
		}
		rows++
		g.Row(id.String(), textfmt.Many(h.collected, "time"), maybeSize(h.last.SizeAfter), maybeSize(h.largest),
			maybePercent(ratio(h.last.FragmentationAfter, h.last.SizeAfter)), maybePercent(h.free.value()), maybePercent(h.survival.value()))
	}
	if rows == 0 {
		return
	}
	textfmt.Heading(w, "THE HEAP", "sizes after a collection; poh: the pinned object heap")
	g.Print(w)
}

// heapPart is one generation throughout the file.
type heapPart struct {
	last           *gc.Generation
	largest        gc.Maybe[gc.Bytes] // after a collection
	collected      int
	free, survival mean
}

func (r *Report) heapOf(id gc.GenerationID) (h heapPart) {
	for i := range r.Collections {
		c := &r.Collections[i]
		g := part(&c.Collection, id)
		if g == nil {
			continue
		}
		h.last = g
		if size, ok := g.SizeAfter.Get(); ok {
			h.largest = gc.Known(max(size, h.largest.Or(0)))
		}
		if collected(g) {
			h.collected++
		}
		h.free.add(ratio(g.FragmentationAfter, g.SizeAfter))
		h.survival.add(survivalIn(g))
	}
	return h
}
