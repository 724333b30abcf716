// Package textfmt lays out reports for people: headings, wrapped sentences, tables,
// and numbers as one reads them; as text, or as a page for a browser. It knows numbers,
// and nothing else of what it lays out.
package textfmt

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"iter"
	"strings"
	"unicode/utf8"
)

// Width is how wide a printed report gets, in columns, and Narrow how narrow.
const (
	Width  = 100
	Narrow = 80
)

// Page is a report under way. Formats are those of [Sprintf]. Nothing that is written
// to it commands a terminal: see [Printable].
type Page struct {
	Names   int           // how wide the names of items are in text
	out     *bufio.Writer // keeps the first error, for Close
	columns int
	html    bool
}

// NewText begins a report for a terminal, or for a file, of so many columns; of as
// many as [Columns] has if that is zero.
func NewText(to io.Writer, columns int) *Page {
	if columns == 0 {
		columns = Columns(to)
	}
	return &Page{Names: 13, out: bufio.NewWriter(to), columns: columns}
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#222;background:#fff}
h2{font-size:1em;margin:2em 0 .3em}h2 small{font-weight:normal;color:#707070;margin-left:1em}
p{margin:.1em 0 .1em 1em}p.n{display:grid;grid-template-columns:minmax(9em,max-content) 1fr;gap:.6em}p b{font-weight:600}
table{display:block;width:fit-content;max-width:calc(100% - 1em);overflow-x:auto;border-collapse:collapse;margin:.3em 0 .3em 1em;font-variant-numeric:tabular-nums}
td{padding:.05em .8em;text-align:right;white-space:nowrap;border-bottom:1px solid #8882}td.l{text-align:left}
i{display:inline-block;height:.8em;background:#c60}
@media(max-width:45em){p.n{display:block}td{padding:.05em .5em}}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}h2 small{color:#999}}`

// NewHTML begins a page for a browser, in one file with nothing outside of it. Styles are
// further style sheets, of its figures.
func NewHTML(to io.Writer, title string, styles ...string) *Page {
	p := &Page{out: bufio.NewWriter(to), html: true}
	p.write("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>%s</title>\n<style>%s</style></head><body>\n", html.EscapeString(Printable(title)), strings.Join(append([]string{style}, styles...), "\n"))
	return p
}

// Draws reports whether the report has drawings: whether it is a page for a browser.
func (p *Page) Draws() bool { return p.html }

// Figure writes a drawing in HTML. A page of text has none.
func (p *Page) Figure(drawing string) {
	if p.html {
		p.write("%s", drawing)
	}
}

// Columns returns how wide a report is that goes to w: as wide as the terminal, from
// Narrow to Width columns, and else Width.
func Columns(w io.Writer) int {
	if n := terminal(w); n > 0 {
		return min(max(n, Narrow), Width)
	}
	return Width
}

// IsTerminal reports whether w writes to a terminal.
func IsTerminal(w io.Writer) bool { return terminal(w) > 0 }

// Columns returns how wide the report is.
func (p *Page) Columns() int { return p.columns }

// Close ends the report, and leaves what it is written to open.
func (p *Page) Close() error {
	if p.html {
		p.write("</body></html>\n")
	}
	if err := p.out.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// write writes what is printable, and line ends.
func (p *Page) write(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

// Title writes the first line.
func (p *Page) Title(format string, args ...any) {
	if title := Sprintf(format, args...); p.html {
		p.Heading(title, "")
	} else {
		p.write("%s\n\n", title)
	}
}

// Heading writes the title of a section, with a remark at the right end, or below
// it where there is no room.
func (p *Page) Heading(title, format string, args ...any) {
	title, remark := Printable(title), Sprintf(format, args...)
	if p.html {
		if remark != "" {
			remark = "<small>" + html.EscapeString(remark) + "</small>"
		}
		p.write("<h2>%s%s</h2>\n", html.EscapeString(title), remark)
		return
	}
	room := p.columns - 1 - utf8.RuneCountInString(title)
	if remark != "" && utf8.RuneCountInString(remark) <= room {
		title, remark = fmt.Sprintf("%s %*s", title, room, remark), ""
	}
	p.write("\n%s\n", title)
	if remark != "" {
		p.Wrap("  (", "  ", remark+")")
	}
}

// Blank writes an empty line in text.
func (p *Page) Blank() {
	if !p.html {
		p.write("\n")
	}
}

// Say writes a sentence, wrapped.
func (p *Page) Say(format string, args ...any) { p.Wrap("  ", "  ", Sprintf(format, args...)) }

// Item writes a named line, wrapped.
func (p *Page) Item(name, format string, args ...any) {
	p.Wrap(fmt.Sprintf("  %-*s", p.Names, name), strings.Repeat(" ", p.Names+2), Sprintf(format, args...))
}

// Wrap writes text in lines of at most as many columns as p has: the first after first,
// the others after indent. A word that is longer has a line of its own. A number
// stays with its unit.
func (p *Page) Wrap(first, indent, text string) {
	first, text = Printable(first), Printable(strings.Join(strings.Fields(text), " "))
	if p.html {
		class := ""
		if first = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(first)+" ", "- ")); first != "" {
			class, first = ` class="n"`, "<b>"+html.EscapeString(first)+"</b> "
		}
		p.write("<p%s>%s%s</p>\n", class, first, html.EscapeString(text))
		return
	}
	line, n := first, utf8.RuneCountInString(first)
	empty := true
	for word := range words(text) {
		k := utf8.RuneCountInString(word)
		if !empty && n+1+k > p.columns {
			p.write("%s\n", strings.TrimRight(line, " "))
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
	p.write("%s\n", strings.TrimRight(line, " "))
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
