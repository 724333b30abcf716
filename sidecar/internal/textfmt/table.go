package textfmt

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a table of cells. The first column, and those of Left, are set to the
// left, the others to the right.
type Table struct {
	Left map[int]bool
	rows [][]string
}

// Row adds a row; a head is the first one.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

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

// Print writes the table. In text, what is beyond its width is cut off, and shows
// it.
func (t *Table) Print(w io.Writer) {
	if h, ok := w.(*HTML); ok {
		h.table(t)
		return
	}
	widths := t.widths()
	for _, row := range t.rows {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			b.WriteString(strings.Repeat(" ", gutter))
			if i == 0 || t.Left[i] {
				b.WriteString(c + pad)
			} else {
				b.WriteString(pad + c)
			}
		}
		_, _ = fmt.Fprintln(w, clip(strings.TrimRight(b.String(), " "), columns(w)))
	}
}

// clip cuts a line to n columns.
func clip(line string, n int) string {
	if utf8.RuneCountInString(line) <= n {
		return line
	}
	return string([]rune(line)[:n-1]) + "…"
}
