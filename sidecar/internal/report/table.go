package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Width is how wide the printed report gets.
const Width = 100

// gutter is the space before each column.
const gutter = 2

// grid is a table of cells. The first column, and those of left, are set to the
// left, the others to the right.
type grid struct {
	rows [][]string
	left map[int]bool
}

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

func (g *grid) print(w io.Writer) {
	widths := g.widths()
	for _, row := range g.rows {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			b.WriteString(strings.Repeat(" ", gutter))
			if i == 0 || g.left[i] {
				b.WriteString(c + pad)
			} else {
				b.WriteString(pad + c)
			}
		}
		fmt.Fprintln(w, clip(strings.TrimRight(b.String(), " "), Width))
	}
}

// clip cuts a line to n columns and shows that it did.
func clip(line string, n int) string {
	if utf8.RuneCountInString(line) <= n {
		return line
	}
	return string([]rune(line)[:n-1]) + "…"
}

// heading writes the title of a section, with a remark at the right end.
func heading(w io.Writer, title, remark string) {
	if remark != "" {
		title = fmt.Sprintf("%s %*s", title, Width-1-utf8.RuneCountInString(title), remark)
	}
	fmt.Fprintf(w, "\n%s\n", title)
}

// item writes a named line, wrapped.
func item(w io.Writer, name, text string) {
	wrap(w, fmt.Sprintf("  %-13s", name), strings.Repeat(" ", 15), text)
}

// wrap writes text in lines of at most Width columns: the first after first,
// the others after indent.
func wrap(w io.Writer, first, indent, text string) {
	line, n := first, utf8.RuneCountInString(first)
	empty := true
	for word := range strings.FieldsSeq(text) {
		k := utf8.RuneCountInString(word)
		if !empty && n+1+k > Width {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line, n, empty = indent, utf8.RuneCountInString(indent), true
		}
		if !empty {
			line += " "
			n++
		}
		line += word
		n += k
		empty = false
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}
