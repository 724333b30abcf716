package strip

import (
	"fmt"
	"html"
	"math"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Bin is the requests between two percentiles, and where their time went.
type Bin struct {
	From, To float64       // fractions of all requests, in the order of their latency
	Latency  time.Duration // of the last of them
	Time     [NumGroups]time.Duration
}

// total returns the time of all groups.
func (b *Bin) total() (sum time.Duration) {
	for _, d := range b.Time {
		sum += d
	}
	return sum
}

// Edges returns the percentiles at which to cut n requests, from 0 to 1: those of the axis
// of HdrHistogram, ten for each further 9 of 99.9 %, as long as a request lies between two.
func Edges(n int) (edges []float64) {
	edges = []float64{0}
	for k := 1; ; k++ {
		p := 1 - math.Pow(10, -float64(k)/10)
		if float64(n)*(p-edges[k-1]) < 1 {
			return append(edges, 1)
		}
		edges = append(edges, p)
	}
}

// Percentiles returns the drawing of bins that are in order: the share of the time that
// each group had, by percentile.
func Percentiles(bins []Bin) string {
	if len(bins) == 0 {
		return ""
	}
	const top, height = 8, 200
	const seam = 0.06 // percent: bars that only touch may have a pixel between them
	d := &drawing{}
	// The axis ends where the last request begins, and its bin has one more step.
	place := func(p float64) float64 { return -math.Log10(max(1-p, 1e-9)) }
	last := place(bins[len(bins)-1].From) + 0.1
	x := func(p float64) float64 { return 100 * min(place(p)/last, 1) }
	d.write("<figure class=\"strip\"><figcaption><b>Who had the time, by percentile of latency</b>: of the requests at each percentile, the share of their time.</figcaption>\n")
	d.write("<svg role=\"img\" aria-label=\"share of the time by percentile; the table below has its numbers\" height=\"%d\">", top+height+40)
	for i := range bins {
		b := &bins[i]
		from, to, whole := x(b.From), x(b.To), b.total()
		if whole <= 0 {
			continue
		}
		y := float64(top + height)
		for g := range NumGroups {
			share := float64(b.Time[g]) / float64(whole)
			if share <= 0 {
				continue
			}
			y -= share * height
			d.write(`<rect class="%s" x="%.3f%%" y="%.2f" width="%.3f%%" height="%.2f"><title>%s: %.1f %% of the time from %s to %s, up to %s</title></rect>`,
				groups[g].class, from, y, to-from+seam, share*height, g, 100*share, percentile(b.From), percentile(b.To), stall.Humane(b.Latency))
		}
	}
	for i, p := range []float64{0, 0.9, 0.99, 0.999, 0.9999} {
		if x(p) >= 100 && i > 0 {
			break
		}
		anchor := "middle"
		if i == 0 {
			anchor = "start"
		}
		d.write(`<line x1="%.3f%%" x2="%.3f%%" y1="%d" y2="%d"/><text x="%.3f%%" y="%d" text-anchor="%s">%s</text>`, x(p), x(p), top, top+height+4, x(p), top+height+18, anchor, percentile(p))
		if l := latencyAt(bins, p); l > 0 {
			d.write(`<text class="dim" x="%.3f%%" y="%d" text-anchor="%s">%s</text>`, x(p), top+height+34, anchor, stall.Humane(l))
		}
	}
	d.write("<text x=\"100%%\" y=\"%d\" text-anchor=\"end\">max</text><text class=\"dim\" x=\"100%%\" y=\"%d\" text-anchor=\"end\">%s</text></svg>\n", top+height+18, top+height+34, stall.Humane(bins[len(bins)-1].Latency))
	d.percentileTable(bins)
	d.write("</figure>\n")
	return d.String()
}

// latencyAt returns the latency at a percentile that is an edge of bins, 0 elsewhere.
func latencyAt(bins []Bin, p float64) time.Duration {
	for i := range bins {
		if math.Abs(bins[i].To-p) < 1e-9 {
			return bins[i].Latency
		}
	}
	return 0
}

func percentile(p float64) string {
	return fmt.Sprintf("%.4g %%", 100*p)
}

// percentileTable writes the exact numbers.
func (d *drawing) percentileTable(bins []Bin) {
	d.write("<details><summary>In numbers</summary><table><tr><td class=\"l\">from %%</td><td>to %%</td><td>latency</td>")
	for g := range NumGroups {
		d.write("<td>%s %%</td>", html.EscapeString(g.String()))
	}
	d.write("</tr>\n")
	for i := range bins {
		b := &bins[i]
		d.write("<tr><td class=\"l\">%.2f</td><td>%.2f</td><td>%s</td>", 100*b.From, 100*b.To, stall.Humane(b.Latency))
		for g := range NumGroups {
			d.write("<td>%.1f</td>", 100*float64(b.Time[g])/max(float64(b.total()), 1))
		}
		d.write("</tr>\n")
	}
	d.write("</table></details>\n")
}
