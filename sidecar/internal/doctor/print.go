package doctor

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// Columns of the table.
const (
	statusWidth = 6
	idWidth     = 18
)

// Layout is how a table is printed.
type Layout struct {
	Colour  bool
	Columns int // of its lines, at most
}

// colours of a verdict on a terminal (ECMA-48, select graphic rendition).
var colours = map[Status]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[1;31m", NA: "\x1b[2m"}

const plain = "\x1b[0m"

// Colourful reports whether a table that goes to w may be coloured: w is a
// terminal, and NO_COLOR is not set (no-color.org).
func Colourful(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Print writes the report as a table for people.
func (r *Report) Print(to io.Writer, l Layout) error {
	w := bufio.NewWriter(to)
	where := ""
	if r.CPU != nil {
		where = fmt.Sprintf(" on CPU %d", *r.CPU)
	}
	fmt.Fprintln(w, strings.Join(wrap(fmt.Sprintf("CAN NUMBERS FROM THIS MACHINE BE BELIEVED? Probe in mode %s%s", r.Mode, where), l.Columns), "\n"))
	fmt.Fprintln(w)
	for _, c := range r.Checks {
		c.print(w, l)
	}
	r.printCauses(w, l)
	fmt.Fprintln(w)
	fmt.Fprintln(w, strings.Join(wrap(r.Verdict(), l.Columns), "\n"))
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	return nil
}

// print writes one check: what was found and where, and below it what follows
// from it.
func (c *Check) print(w io.Writer, l Layout) {
	status := fmt.Sprintf("%-*s", statusWidth, c.label())
	if on := colours[c.Status]; l.Colour && on != "" {
		status = on + status + plain
	}
	value := c.Value
	if c.File != "" {
		value += " (" + c.File + ")"
	}
	l.row(w, status, c.ID, value)
	for _, line := range wrap(c.Advice, l.Columns-indent-2) {
		fmt.Fprintf(w, "%*s  %s\n", indent, "", line)
	}
}

// indent is where the text of a row begins.
const indent = 2 + statusWidth + idWidth

// row writes one row. Its status is padded to statusWidth.
func (l Layout) row(w io.Writer, status, id, text string) {
	for i, line := range wrap(text, l.Columns-indent) {
		if i == 0 {
			fmt.Fprintf(w, "  %s%-*s%s\n", status, idWidth, id, line)
			continue
		}
		// A path is one word: a long one begins further left.
		fmt.Fprintf(w, "%*s%s\n", max(2, min(indent, l.Columns-len(line))), "", line)
	}
}

func (c *Check) label() string {
	if c.Status == Fail {
		return "FAIL" // so that it is found without colour
	}
	return string(c.Status)
}

func (r *Report) printCauses(w io.Writer, l Layout) {
	fmt.Fprintf(w, "\nCAUSES OF GAPS THAT CAN BE DECIDED HERE\n\n")
	for _, c := range r.Causes {
		yes, text := "no", c.Needs
		if c.Decidable {
			yes, text = "yes", c.How
			if c.Needs != "" {
				text += "; for more: " + c.Needs
			}
		}
		l.row(w, fmt.Sprintf("%-*s", statusWidth, yes), c.Cause, text)
	}
}

// Verdict is the answer in one sentence.
func (r *Report) Verdict() string {
	count := map[Status]int{}
	for _, c := range r.Checks {
		count[c.Status]++
	}
	sums := fmt.Sprintf("%d ok, %d info, %d warn, %d fail, %d n/a", count[OK], count[Info], count[Warn], count[Fail], count[NA])
	if failed := r.Failed(); len(failed) > 0 {
		return fmt.Sprintf("NO: %s (%s)", strings.Join(failed, ", "), sums)
	}
	if count[Warn] > 0 {
		return fmt.Sprintf("Yes, with the warnings in mind (%s)", sums)
	}
	return fmt.Sprintf("Yes (%s)", sums)
}

// wrap breaks text into lines of at most width characters, but for longer words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		word = textfmt.Printable(word) // it may be a name that another process chose
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
