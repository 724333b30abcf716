package strip

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Style is the style sheet of all drawings, for the head of a page.
const Style = `figure.strip{margin:1.5em 0 2em 1em;max-width:calc(100% - 1em)}
.strip figcaption{margin-bottom:.4em}.strip svg{display:block;width:100%;overflow:visible;font:12px system-ui,sans-serif}
.strip text{fill:currentColor}.strip .dim{opacity:.7}.strip line{stroke:currentColor;stroke-opacity:.35}.strip .mark{stroke-dasharray:3 3;stroke-opacity:.9}
.strip .lane{fill:currentColor;fill-opacity:.07}.strip ul{list-style:none;display:flex;flex-wrap:wrap;gap:.1em 1.2em;padding:0;margin:.5em 0}
.strip li svg{display:inline-block;width:.9em;height:.9em;margin-right:.4em;vertical-align:-.1em}
.strip .gc{fill:#d55e00}.strip .rt{fill:#7a4a9e}.strip .sc{fill:#0072b2}.strip .ho{fill:#cc79a7}.strip .qu{fill:#e6b800}.strip .lo{fill:#999}.strip .ap{fill:#009e73}
.strip .gc2{fill:#f5a05a}.strip .sc2{fill:#56b4e9}.strip .ap2{fill:#66c2a5}.strip .un{fill:url(#strip-hatch)}
.strip rect{shape-rendering:crispEdges}.strip rect:hover{stroke:currentColor}.strip summary{cursor:pointer}
#strip-defs{position:absolute;width:0;height:0}`

// Defs is what the drawings of a page share, for the beginning of its body.
const Defs = `<svg id="strip-defs" aria-hidden="true"><defs><pattern id="strip-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="#8883"/><rect width="2" height="6" fill="#888"/></pattern></defs></svg>`

// class returns the class of a part, which says its colour: each group has one, and
// where two of its parts differ in what they mean, two shades of it.
func class(p stall.Part) string {
	name := groups[GroupOf(p)].class
	switch {
	case p == stall.AppOrHost, p == stall.Part(stall.SchedGC), p == stall.Part(stall.GCPause):
		return name + "2"
	}
	return name
}

// drawing is a drawing under way.
type drawing struct {
	strings.Builder
	start stall.Instant // of what is drawn
	whole time.Duration
	wide  float64 // the part of the width that it has, in percent
	y     int
}

func (d *drawing) write(format string, args ...any) { fmt.Fprintf(&d.Builder, format, args...) }

// HTML returns the strip of a request, beside another one at the same scale if there is
// one. P99 is marked in it unless it is zero.
func (r *Request) HTML(p99 time.Duration, beside *Request) string {
	span := r.Span()
	times := r.Times()
	if span.Empty() || len(times) == 0 {
		return ""
	}
	d := &drawing{start: span.Start, whole: span.Duration()}
	d.write(`<figure class="strip"><figcaption><b>%s</b>: %s`, html.EscapeString(r.Name), stall.Humane(d.whole))
	if p99 > 0 {
		d.write(`, beside a p99 of %s`, stall.Humane(p99))
	}
	if most := times[0]; r.Lane == "" {
		d.write(`. Most of it: %s, %s (%.0f %%)`, label(most.Part), stall.Humane(most.Time), 100*float64(most.Time)/float64(d.whole))
	}
	d.write(".</figcaption>")
	body := &drawing{start: d.start, whole: d.whole, wide: 100}
	body.rows(r, p99, beside)
	d.write("\n<svg role=\"img\" aria-label=\"%s as a strip; the table below has its numbers\" height=\"%d\">", html.EscapeString(r.Name), body.y)
	d.WriteString(body.String())
	d.write("</svg>\n")
	if r.Sentence != "" {
		d.write("<p>%s</p>\n", html.EscapeString(r.Sentence))
	}
	d.table(r, times)
	d.write("</figure>\n")
	return d.String()
}

// rows draws the rows on one axis.
func (d *drawing) rows(r *Request, p99 time.Duration, beside *Request) {
	const high, low = 24, 12
	d.lane(cmp.Or(r.Lane, "this request"), high)
	for _, p := range r.drawn() {
		d.bar(stall.Span{Start: p.Start, End: p.End}, high, class(p.Part), label(p.Part))
	}
	d.y += high
	if p99 > 0 && p99 < d.whole {
		x := d.x(d.start.Add(p99))
		d.write(`<line class="mark" x1="%s" x2="%s" y1="%d" y2="%d"/><text class="dim" x="%s" y="%d" text-anchor="middle">p99</text>`, x, x, d.y-high-4, d.y+2, x, d.y-high-6)
	}
	if beside != nil {
		d.lane(fmt.Sprintf("%s, %s, at the same scale", beside.Name, stall.Humane(beside.Span().Duration())), high)
		shift := d.start.Sub(beside.Span().Start)
		for _, p := range beside.drawn() {
			d.bar(stall.Span{Start: p.Start.Add(shift), End: p.End.Add(shift)}, high, class(p.Part), label(p.Part))
		}
		d.y += high
	}
	d.lane("collections", low)
	for i := range r.Collections {
		c := &r.Collections[i]
		d.bar(c.Span, low, "gc2", fmt.Sprintf("collection %d", c.Index))
		for _, p := range c.Pauses {
			d.bar(p, low, "gc", fmt.Sprintf("pause of collection %d", c.Index))
		}
	}
	d.y += low
	d.lane("stops of the world", low)
	for _, v := range r.Stops {
		d.bar(v.Span(), low, class(stall.Part(v.Cause)), v.Cause.String())
	}
	d.y += low
	if r.Gaps != nil {
		d.lane("gaps of the machine", low)
		for _, v := range r.Gaps {
			d.bar(v.Span(), low, class(stall.Part(v.Cause)), v.Cause.String()+" of "+v.Scope.String())
		}
		d.y += low
	}
	if r.Lane == "" {
		d.lane("watched exactly", low)
		for _, s := range r.Watched() {
			d.bar(s, low, "ap2", "watched exactly")
		}
		d.y += low
	}
	d.axis()
}

// lane begins a row.
func (d *drawing) lane(name string, height int) {
	d.y += 24
	d.write("\n<text x=\"0\" y=\"%d\">%s</text><rect class=\"lane\" x=\"0\" y=\"%d\" width=\"100%%\" height=\"%d\"/>", d.y-5, html.EscapeString(name), d.y, height)
}

// bar draws what of s lies in the drawing.
func (d *drawing) bar(s stall.Span, height int, class, name string) {
	all := stall.Span{Start: d.start, End: d.start.Add(d.whole)}
	v := s.Clip(all)
	if v.Empty() {
		return
	}
	d.write(`<rect class="%s" x="%s" y="%d" width="%.4f%%" height="%d"><title>%s: %s from %s on</title></rect>`,
		class, d.x(v.Start), d.y, d.wide*float64(v.Duration())/float64(d.whole), height,
		html.EscapeString(name), stall.Humane(s.Duration()), after(s.Start.Sub(d.start)))
}

func (d *drawing) x(t stall.Instant) string {
	return fmt.Sprintf("%.4f%%", d.wide*float64(t.Sub(d.start))/float64(d.whole))
}

// axis draws the time from the start on.
func (d *drawing) axis() {
	d.y += 6
	step := niceStep(d.whole)
	for t := time.Duration(0); t <= d.whole; t += step {
		x := d.x(d.start.Add(t))
		anchor := "middle"
		if t == 0 {
			anchor = "start"
		} else if d.whole-t < step/2 {
			anchor = "end"
		}
		d.write(`<line x1="%s" x2="%s" y1="%d" y2="%d"/><text class="dim" x="%s" y="%d" text-anchor="%s">%s</text>`, x, x, d.y, d.y+4, x, d.y+17, anchor, tick(t, d.whole))
	}
	d.y += 22
}

// tick writes an instant of an axis, in the unit of all of it.
func tick(t, whole time.Duration) string {
	switch {
	case t == 0:
		return "0"
	case whole >= time.Second:
		return fmt.Sprintf("%g s", t.Seconds())
	case whole >= time.Millisecond:
		return fmt.Sprintf("%g ms", float64(t)/1e6)
	case whole >= time.Microsecond:
		return fmt.Sprintf("%g us", float64(t)/1e3)
	}
	return fmt.Sprintf("%d ns", t)
}

// after writes how long after the beginning of a drawing something was, or before it.
func after(d time.Duration) string {
	if d < 0 {
		return "-" + stall.Humane(-d)
	}
	return "+" + stall.Humane(d)
}

// niceStep returns a step of 1, 2 or 5 by which at most five fit into d.
func niceStep(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if d/(n*unit) <= 5 {
				return n * unit
			}
		}
	}
}

// table writes the exact numbers.
func (d *drawing) table(r *Request, times []Time) {
	if r.Coarse {
		d.write("<p>It has more pieces than are drawn: each has the colour of what had most of it.")
		if r.Sums == nil {
			d.write(" The numbers are sums of these.")
		}
		d.write("</p>\n")
	}
	d.write("<details><summary>In numbers</summary><table><tr><td class=\"l\">part</td><td>ns</td><td>%%</td></tr>\n")
	for _, t := range times {
		d.write("<tr><td class=\"l\">%s</td><td>%d</td><td>%.1f</td></tr>\n", label(t.Part), t.Time, 100*float64(t.Time)/float64(d.whole))
	}
	d.write("<tr><td class=\"l\">all</td><td>%d</td><td>100.0</td></tr></table></details>\n", d.whole)
}

// Legend returns the legend of all drawings of a page, of some groups if there are others
// that it never has.
func Legend(only ...Group) string {
	d := &drawing{}
	d.write(`<figure class="strip"><ul>`)
	item := func(class, name string) {
		d.write(`<li><svg aria-hidden="true"><rect class="%s" width="100%%" height="100%%"/></svg>%s</li>`, class, html.EscapeString(name))
	}
	for g := range NumGroups {
		if len(only) > 0 && !slices.Contains(only, g) {
			continue
		}
		item(groups[g].class, g.String())
		if s := shades[g]; s != "" {
			item(groups[g].class+"2", s)
		}
	}
	d.write("</ul></figure>\n")
	return d.String()
}

// shades are what the lighter colour of a group stands for.
var shades = map[Group]string{
	GC:    "its pauses",
	Sched: "while a GC worker had a CPU, at most",
	App:   "program or machine",
}
