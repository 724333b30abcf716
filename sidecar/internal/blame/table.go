package blame

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Width is how wide the printed report gets.
const Width = 100

// grid is a table of cells. The first column is set to the left, the others to
// the right.
type grid struct{ rows [][]string }

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) widths() []int {
	var w []int
	for _, row := range g.rows {
		for i, c := range row {
			if i == len(w) {
				w = append(w, 0)
			}
			w[i] = max(w[i], utf8.RuneCountInString(c))
		}
	}
	return w
}

func (g *grid) width() int {
	sum := 0
	for _, w := range g.widths() {
		sum += w + gutter
	}
	return sum
}

// gutter is the space before each column.
const gutter = 2

func (g *grid) print(w io.Writer) {
	widths := g.widths()
	for _, row := range g.rows {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			b.WriteString("  ")
			if i == 0 {
				b.WriteString(c + pad)
			} else {
				b.WriteString(pad + c)
			}
		}
		_, _ = io.WriteString(w, strings.TrimRight(b.String(), " ")+"\n")
	}
}

// shares returns the table of bands: who had the time of each row. If it gets
// wider than Width, the stalls with the least time share a column.
func (j *Judgement) shares() *grid {
	all := j.sum(func(*Row) bool { return true })
	var shown []*party
	folded := map[*party]bool{}
	for i := range parties {
		if parties[i].of(&all.Share) > 0 {
			shown = append(shown, &parties[i])
		}
	}
	for {
		g := j.grid(shown, folded)
		if g.width() <= Width {
			return g
		}
		var least *party
		for _, p := range shown {
			if !p.rest && !folded[p] && (least == nil || p.of(&all.Share) < least.of(&all.Share)) {
				least = p
			}
		}
		if least == nil {
			return g
		}
		folded[least] = true
	}
}

func (j *Judgement) grid(shown []*party, folded map[*party]bool) *grid {
	g := &grid{}
	top := []string{"", "fide-", "", "", "cover-"}
	head := []string{"latency", "lity", "requests", "time", "age %"}
	for _, p := range shown {
		if !folded[p] {
			top, head = append(top, p.top), append(head, p.head)
		}
	}
	if len(folded) > 0 {
		top, head = append(top, "other"), append(head, "stalls")
	}
	g.add(top...)
	g.add(head...)
	for i := range j.Rows {
		g.add(j.Rows[i].cells(shown, folded)...)
	}
	return g
}

func (row *Row) cells(shown []*party, folded map[*party]bool) []string {
	cells := []string{
		bandTitles[row.Band], row.Fidelity.String(), count(row.Requests),
		length(row.Share.Total), cell(row.Coverage()),
	}
	other := 0.0
	for _, p := range shown {
		f := row.Of(p.of(&row.Share))
		if folded[p] {
			other += f
			continue
		}
		cells = append(cells, cell(f))
	}
	if len(folded) > 0 {
		cells = append(cells, cell(other))
	}
	return cells
}
