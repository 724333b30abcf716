package textfmt

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
)

// HTML is a page for a browser, in one file with nothing outside of it. What is
// laid out with this package is set as headings, sentences and tables; other
// lines are set as they are, and one that is not indented is a heading.
type HTML struct {
	out  *bufio.Writer
	line strings.Builder // that has no end yet
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#222;background:#fff}
h2{font-size:1em;margin:2em 0 .3em}h2 small{font-weight:normal;color:#707070;margin-left:1em}
p{margin:.1em 0 .1em 1em}p.n{display:grid;grid-template-columns:minmax(9em,max-content) 1fr;gap:.6em}p b{font-weight:600}
table{display:block;width:fit-content;max-width:calc(100% - 1em);overflow-x:auto;border-collapse:collapse;margin:.3em 0 .3em 1em;font-variant-numeric:tabular-nums}
td{padding:.05em .8em;text-align:right;white-space:nowrap;border-bottom:1px solid #8882}td.l{text-align:left}
i{display:inline-block;height:.8em;background:#c60}
@media(max-width:45em){p.n{display:block}td{padding:.05em .5em}}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}h2 small{color:#999}}`

// NewHTML begins a page.
func NewHTML(to io.Writer, title string) *HTML {
	h := &HTML{out: bufio.NewWriter(to)}
	h.printf("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>%s</title>\n<style>%s</style></head><body>\n", html.EscapeString(title), style)
	return h
}

// Close ends the page. The error is that of the first write that failed.
func (h *HTML) Close() error {
	if h.line.Len() > 0 {
		h.print(h.line.String())
	}
	h.printf("</body></html>\n")
	return h.out.Flush()
}

// printf writes to a buffer that keeps the first error.
func (h *HTML) printf(format string, args ...any) { _, _ = fmt.Fprintf(h.out, format, args...) }

// Write sets lines as they are.
func (h *HTML) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		h.line.WriteString(line)
		if strings.HasSuffix(line, "\n") {
			h.print(h.line.String())
			h.line.Reset()
		}
	}
	return len(text), nil
}

func (h *HTML) print(line string) {
	text := strings.TrimSpace(line)
	switch {
	case text == "":
	case strings.HasPrefix(line, " "):
		h.printf("<p>%s</p>\n", html.EscapeString(text))
	default:
		h.heading(text, "")
	}
}

func (h *HTML) heading(title, remark string) {
	if remark != "" {
		remark = "<small>" + html.EscapeString(remark) + "</small>"
	}
	h.printf("<h2>%s%s</h2>\n", html.EscapeString(title), remark)
}

// sentence sets text behind a name, which may be empty.
func (h *HTML) sentence(name, text string) {
	class := ""
	if name = strings.Trim(name, " -"); name != "" {
		class, name = ` class="n"`, "<b>"+html.EscapeString(name)+"</b> "
	}
	h.printf("<p%s>%s%s</p>\n", class, name, html.EscapeString(strings.Join(strings.Fields(text), " ")))
}

// barWidth is that of one # of a bar, in pixels.
const barWidth = 6

func (h *HTML) table(t *Table) {
	h.printf("<table>\n")
	for _, row := range t.rows {
		h.printf("<tr>")
		for i, cell := range row {
			class := ""
			if i == 0 || t.Left[i] {
				class = ` class="l"`
			}
			text := html.EscapeString(cell)
			if cell != "" && strings.Trim(cell, "#") == "" {
				text = fmt.Sprintf(`<i style="width:%dpx"></i>`, barWidth*len(cell))
			}
			h.printf("<td%s>%s</td>", class, text)
		}
		h.printf("</tr>\n")
	}
	h.printf("</table>\n")
}
