package textfmt

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Table is a table of cells. The first column, and those of Left, are set to the
// left, the others to the right.
type Table struct {
	Left []int
	rows [][]string
}

// Row adds a row of what [Text] writes; a head is the first one.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Text(c)
	}
	t.rows = append(t.rows, row)
}

// gutter is the space before each column.
const gutter = 2

func (t *Table) widths() []int {
	var w []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(w) {
				w = append(w, 0)
			}
			w[i] = max(w[i], utf8.RuneCountInString(c))
		}
	}
	return w
}

// Width returns how many columns of text the table takes.
func (t *Table) Width() int {
	sum := 0
	for _, w := range t.widths() {
		sum += w + gutter
	}
	return sum
}

// Table writes a table. In text, what is beyond the width of p is cut off, and shows
// it.
func (p *Page) Table(t *Table) {
	if p.html {
		p.tableHTML(t)
		return
	}
	widths := t.widths()
	for _, row := range t.rows {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			b.WriteString(strings.Repeat(" ", gutter))
			if i == 0 || slices.Contains(t.Left, i) {
				b.WriteString(c + pad)
			} else {
				b.WriteString(pad + c)
			}
		}
		line := []rune(strings.TrimRight(b.String(), " "))
		if len(line) > p.columns {
			line = append(line[:p.columns-1], '…')
		}
		p.write("%s\n", string(line))
	}
}

// barPixels is the width of one # of a bar.
const barPixels = 6

func (p *Page) tableHTML(t *Table) {
	p.write("<table>\n")
	for _, row := range t.rows {
		p.write("<tr>")
		for i, cell := range row {
			class, text := "", html.EscapeString(cell)
			if i == 0 || slices.Contains(t.Left, i) {
				class = ` class="l"`
			}
			if cell != "" && strings.Trim(cell, "#") == "" {
				text = fmt.Sprintf(`<i style="width:%dpx"></i>`, barPixels*len(cell))
			}
			p.write("<td%s>%s</td>", class, text)
		}
		p.write("</tr>\n")
	}
	p.write("</table>\n")
}

// Histogram returns a table of counts by the power of two of ns that a length is not
// shorter than, under the name of what is counted; nil if there are none.
func Histogram(name string, counts []uint64) *Table {
	first, last, most := len(counts), 0, uint64(0)
	for i, n := range counts {
		if n > 0 {
			first, last, most = min(first, i), i, max(most, n)
		}
	}
	if most == 0 {
		return nil
	}
	t := &Table{Left: []int{2}}
	t.Row("from", name, "")
	for i := first; i <= last; i++ {
		t.Row(time.Duration(1)<<i, counts[i], bar(counts[i], most))
	}
	return t
}

// bar returns a bar for n, where the longest is for most, which is not zero.
func bar(n, most uint64) string {
	const longest = 50
	return strings.Repeat("#", int((float64(n)*longest+float64(most)-1)/float64(most)))
}
