// Package report writes what a measurement found as one section of Markdown,
// with the facts of the machine it was found on.
package report

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Section is a section in the making. The zero value is not ready; see New.
type Section struct{ text strings.Builder }

// New begins a section.
func New(title string) *Section {
	s := &Section{}
	s.Para("## %s", title)
	s.Para("Measured on %s.", machine())
	return s
}

// Para adds a paragraph.
func (s *Section) Para(format string, args ...any) {
	if s.text.Len() > 0 {
		s.text.WriteByte('\n')
	}
	fmt.Fprintf(&s.text, format+"\n", args...)
}

// Table adds a table: the first row is its head. The first column is text, the
// others are set to the right.
func (s *Section) Table(rows [][]string) {
	s.text.WriteByte('\n')
	for i, row := range rows {
		fmt.Fprintf(&s.text, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&s.text, "|---|%s\n", strings.Repeat("--:|", len(row)-1))
		}
	}
}

// String returns the section as Markdown.
func (s *Section) String() string { return s.text.String() }

// Output is where a section goes: the flag -o.
type Output struct{ path string }

// Flag defines -o in f.
func (o *Output) Flag(f *flag.FlagSet) {
	f.StringVar(&o.path, "o", "", "write the section to this `file` instead of standard output")
}

// Write writes s to the file that was named, or to w.
func (o *Output) Write(w io.Writer, s *Section) error {
	if o.path == "" {
		if _, err := io.WriteString(w, s.String()); err != nil {
			return fmt.Errorf("write section: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(o.path), 0o755); err != nil {
		return fmt.Errorf("write section: %w", err)
	}
	if err := os.WriteFile(o.path, []byte(s.String()), 0o644); err != nil {
		return fmt.Errorf("write section: %w", err)
	}
	return nil
}
