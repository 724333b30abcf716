package textfmt

import (
	"bufio"
	"io"
)

// Width is how wide a printed report gets, in columns, and Narrow how narrow.
const (
	Width  = 100
	Narrow = 80
)

// Text is a report for a terminal, or for a file: as wide as the terminal, from
// Narrow to Width columns, and else Width.
type Text struct {
	*bufio.Writer
	columns int
}

// NewText begins a report, which is written when it is flushed.
func NewText(to io.Writer) *Text {
	return &Text{bufio.NewWriter(to), Columns(to)}
}

// Columns returns how wide a report is that goes to w: as wide as the terminal, from
// Narrow to Width columns, and else Width.
func Columns(w io.Writer) int {
	if n := terminal(w); n > 0 {
		return min(max(n, Narrow), Width)
	}
	return Width
}

// Columns returns how wide the report is.
func (t *Text) Columns() int { return t.columns }

// columns returns how wide what is written to w may be.
func columns(w io.Writer) int {
	if t, ok := w.(*Text); ok {
		return t.columns
	}
	return Width
}
