package strip

import (
	"fmt"
	"html"
	"math"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Pause is a stop of the world, or a gap that a probe saw.
type Pause struct {
	Span   stall.Span
	Name   string // of its collection, or why it was
	GC     bool
	Cause  stall.Cause // of a gap
	Others int         // shorter ones that began with it, and are not in the list
}

// Heap is what a collection made of the heap, in bytes.
type Heap struct {
	At            stall.Instant
	Name          string
	Before, After uint64
}

// columns is how many pauses are drawn beside each other. Of several in one column the
// longest is, and the number of the others is said.
const columns = 1000

// column returns the column of an instant.
func (d *drawing) column(t stall.Instant) int {
	return min(max(int(float64(t.Sub(d.start))/float64(max(d.whole, 1))*columns), 0), columns-1)
}

const (
	plotHeight = 160
	plotWidth  = 88                        // percent; at its right are the names of its levels
	shortest   = float64(time.Microsecond) // where the axis of lengths begins
)

// Pauses returns the drawing of pauses over a time: each as high as it was long, on a
// logarithmic axis that begins at a microsecond.
func Pauses(over stall.Span, list []Pause) string {
	return lengths(over, list, "Pauses over time", func(p *Pause) string {
		if p.GC {
			return "gc"
		}
		return "rt"
	})
}

// Gaps is Pauses of gaps that probes saw.
func Gaps(over stall.Span, list []Pause) string {
	return lengths(over, list, "Gaps over time", func(p *Pause) string { return class(stall.Part(p.Cause)) })
}

// lengths draws what has a length. Class returns the class of one.
func lengths(over stall.Span, list []Pause, title string, class func(*Pause) string) string {
	if len(list) == 0 || over.Empty() {
		return ""
	}
	d := &drawing{start: over.Start, whole: over.Duration(), wide: plotWidth, y: 8}
	var longest [columns]*Pause
	var others [columns]int
	most := 10 * shortest
	for i := range list {
		p := &list[i]
		most = max(most, float64(p.Span.Duration()))
		k := d.column(p.Span.Start)
		others[k] += p.Others
		if longest[k] == nil {
			longest[k] = p
			continue
		}
		if others[k]++; p.Span.Duration() > longest[k].Span.Duration() {
			longest[k] = p
		}
	}
	top := math.Ceil(math.Log10(most / shortest)) // decades
	height := func(length float64) float64 {
		return plotHeight * max(math.Log10(max(length, shortest)/shortest)/top, 0.01)
	}
	d.begin(title, "each as high as it was long", plotHeight+34)
	for k := 0.0; k <= top; k++ {
		length := shortest * math.Pow(10, k)
		d.level(plotHeight*k/top, stall.Humane(time.Duration(length)))
	}
	for k, p := range longest {
		if p == nil {
			continue
		}
		more := ""
		if others[k] > 0 {
			more = fmt.Sprintf(", and %d shorter ones", others[k])
		}
		h := height(float64(p.Span.Duration()))
		d.write(`<rect class="%s" x="%.1f%%" y="%.1f" width="0.2%%" height="%.1f"><title>%s: %s at %s%s</title></rect>`,
			class(p), plotWidth*float64(k)/columns, float64(d.y)+plotHeight-h, h, html.EscapeString(p.Name), stall.Humane(p.Span.Duration()), after(p.Span.Start.Sub(d.start)), more)
	}
	return d.end()
}

// Heaps returns the drawing of the heap over a time: what each collection freed, from its
// size after to that before.
func Heaps(over stall.Span, list []Heap) string {
	if len(list) == 0 || over.Empty() {
		return ""
	}
	d := &drawing{start: over.Start, whole: over.Duration(), wide: plotWidth, y: 8}
	var of [columns]*Heap
	most := uint64(1)
	for i := range list {
		h := &list[i]
		most = max(most, h.Before, h.After)
		if k := d.column(h.At); of[k] == nil || h.Before > of[k].Before {
			of[k] = h
		}
	}
	scale := func(bytes uint64) float64 { return plotHeight * float64(bytes) / float64(most) }
	d.begin("The heap before and after each collection", "a bar is what was freed", plotHeight+34)
	for _, part := range []uint64{0, most / 2, most} {
		d.level(scale(part), size(part))
	}
	for k, h := range of {
		if h == nil {
			continue
		}
		low, high := min(h.Before, h.After), max(h.Before, h.After)
		d.write(`<rect class="ap" x="%.1f%%" y="%.1f" width="0.2%%" height="%.1f"><title>%s: %s before, %s after, at %s</title></rect>`,
			plotWidth*float64(k)/columns, float64(d.y)+plotHeight-scale(high), max(scale(high)-scale(low), 1), html.EscapeString(h.Name), size(h.Before), size(h.After), after(h.At.Sub(d.start)))
	}
	return d.end()
}

// begin begins a plot of a height.
func (d *drawing) begin(title, what string, height int) {
	d.write("<figure class=\"strip\"><figcaption><b>%s</b>: %s.</figcaption>\n<svg role=\"img\" aria-label=\"%s; the tables have its numbers\" height=\"%d\">", title, what, title, height)
}

// level draws a level of the vertical axis, at a height above its bottom.
func (d *drawing) level(height float64, name string) {
	y := float64(d.y) + plotHeight - height
	d.write(`<line x1="0" x2="100%%" y1="%.1f" y2="%.1f"/><text class="dim" x="100%%" y="%.1f" text-anchor="end">%s</text>`, y, y, y-2, name)
}

// end ends a plot with its axis of time.
func (d *drawing) end() string {
	d.y += plotHeight - 2
	d.axis()
	d.write("</svg></figure>\n")
	return d.String()
}

// size writes bytes with three digits.
func size(bytes uint64) string {
	v, unit := float64(bytes), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}
