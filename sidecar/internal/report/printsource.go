package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

func (r *Report) printSource(w io.Writer) {
	s := &r.Source
	textfmt.Heading(w, "THE FILE", "")
	textfmt.Item(w, "format", fmt.Sprintf("%s, %s bytes", s.Format, textfmt.Count(s.Bytes)))
	facts := []string{s.Runtime}
	if s.PID > 0 {
		facts = append(facts, fmt.Sprintf("pid %d", s.PID))
	}
	if s.OS != "" {
		facts = append(facts, strings.TrimSpace(s.OS+" "+s.Arch))
	}
	if s.CPUs > 0 {
		facts = append(facts, textfmt.Many(s.CPUs, "CPU"))
	}
	if s.PointerSize > 0 {
		facts = append(facts, fmt.Sprintf("%d-bit", 8*s.PointerSize))
	}
	textfmt.Item(w, "runtime", printable(strings.Join(facts, ", ")))
	if s.Command != "" {
		textfmt.Item(w, "command", printable(s.Command))
	}
	covers := fmt.Sprintf("%s, from %d to %d ns", textfmt.Length(r.Duration()), r.Start, r.End)
	if !s.Recorded.IsZero() {
		covers += "; recorded " + s.Recorded.UTC().Format("2006-01-02 15:04:05.000 MST")
	}
	textfmt.Item(w, "covers", covers)
	textfmt.Item(w, "clock", s.clockText())
}

func (s *Source) clockText() string {
	text := "the file's own: it can be compared with nothing else"
	switch {
	case s.Clock != clockMonotonic:
	case s.dotnet && s.OS == "":
		text = clockMonotonic + ", if it was recorded on Linux: the file does not say"
	default:
		text = clockMonotonic + " of the machine's boot"
	}
	if s.Tick > 0 && s.Tick != monotonicHz {
		text += fmt.Sprintf("; %s ticks a second, scaled to ns", textfmt.Count(s.Tick))
	}
	return text
}

func (r *Report) printIncomplete(w io.Writer) {
	textfmt.Heading(w, "NOT IN THIS FILE", "")
	for i, h := range r.Incomplete {
		if i == shownHoles {
			textfmt.Item(w, "", fmt.Sprintf("and %s more (all of them with --json)", textfmt.Count(len(r.Incomplete)-i)))
			break
		}
		textfmt.Item(w, r.place(h), printable(h.Why))
	}
}

func (r *Report) place(h Hole) string {
	switch {
	case h.Start != 0:
		return fmt.Sprintf("+%.3f s", r.since(h.Start).Seconds())
	case h.End != 0:
		return fmt.Sprintf("to +%.3f s", r.since(h.End).Seconds())
	}
	return ""
}
