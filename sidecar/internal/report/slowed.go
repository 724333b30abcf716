package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// slowedShown is how many of the slowed collections are named.
const slowedShown = 5

// slowed returns the collections that the machine made pause long, the longest
// first.
func (r *Report) slowed() (all []*gc.Collection) {
	for i := range r.Collections {
		if c := &r.Collections[i]; c.SlowedBy != gc.NotSlowed {
			all = append(all, &c.Collection)
		}
	}
	slices.SortStableFunc(all, func(a, b *gc.Collection) int { return cmp.Compare(b.PauseTotal(), a.PauseTotal()) })
	return all
}

// printSlowed says which collections the machine made pause long, and by what.
// Without any it says nothing: of most nobody knows.
func (r *Report) printSlowed(w io.Writer) {
	all := r.slowed()
	if len(all) == 0 {
		return
	}
	textfmt.Heading(w, "MADE LONG BY THE MACHINE", "")
	paging := 0
	for _, c := range all {
		if c.SlowedBy == gc.Paging {
			paging++
		}
	}
	textfmt.Wrap(w, "  ", "  ", fmt.Sprintf("%d of %s: %d by stolen CPU, %d by paging. Their pauses are not the collector's own.",
		len(all), textfmt.Many(len(r.Collections), "collection"), len(all)-paging, paging))
	for _, c := range all[:min(slowedShown, len(all))] {
		start, _, _ := pausesOf(c)
		textfmt.Wrap(w, "  ", "    ", fmt.Sprintf("%d, at +%s: %s", c.Index, seconds(r.since(start)), c.Slowed()))
	}
}
