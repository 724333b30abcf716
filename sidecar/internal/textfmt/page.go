// Package textfmt lays out reports for people: headings, wrapped sentences, tables,
// and numbers as one reads them; as text, or written to an [HTML] as a page. It
// knows nothing of what it lays out.
package textfmt

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"
)

// Heading writes the title of a section, with a remark at the right end, or below
// it where there is no room.
func Heading(w io.Writer, title, remark string) {
	if h, ok := w.(*HTML); ok {
		h.heading(title, remark)
		return
	}
	room := columns(w) - 1 - utf8.RuneCountInString(title)
	if remark != "" && utf8.RuneCountInString(remark) <= room {
		title, remark = fmt.Sprintf("%s %*s", title, room, remark), ""
	}
	_, _ = fmt.Fprintf(w, "\n%s\n", title)
	if remark != "" {
		Wrap(w, "  (", "  ", remark+")")
	}
}

// Item writes a named line, wrapped.
func Item(w io.Writer, name, text string) {
	Wrap(w, fmt.Sprintf("  %-13s", name), strings.Repeat(" ", 15), text)
}

// Wrap writes text in lines of at most as many columns as w has: the first after first,
// the others after indent. A word that is longer has a line of its own. A number
// stays with its unit.
func Wrap(w io.Writer, first, indent, text string) {
	if h, ok := w.(*HTML); ok {
		h.sentence(first, text)
		return
	}
	width := columns(w)
	line, n := first, utf8.RuneCountInString(first)
	empty := true
	for word := range words(text) {
		k := utf8.RuneCountInString(word)
		if !empty && n+1+k > width {
			_, _ = fmt.Fprintln(w, strings.TrimRight(line, " "))
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
	_, _ = fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// words yields the words of text, a unit with the number before it.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		held := ""
		for word := range strings.FieldsSeq(text) {
			if held != "" && isUnit(word) {
				held += " " + word
				continue
			}
			if held != "" && !yield(held) {
				return
			}
			held = word
		}
		if held != "" {
			yield(held)
		}
	}
}

func isUnit(word string) bool {
	switch strings.TrimRight(word, ".,;:)") {
	case "%", "ns", "us", "ms", "s", "KiB", "MiB", "GiB":
		return true
	}
	return false
}
