package report

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSection(t *testing.T) {
	s := New("Speed")
	s.Table([][]string{{"who", "how much"}, {"we", "2"}})
	s.Para("That is %d.", 2)
	want := "## Speed\n\nMeasured on " + machine() + ".\n\n| who | how much |\n|---|--:|\n| we | 2 |\n\nThat is 2.\n"
	if d := cmp.Diff(want, s.String()); d != "" {
		t.Errorf("section (-want +got):\n%s", d)
	}
	if strings.Contains(want, "\n\n\n") {
		t.Error("an empty paragraph")
	}
}

func TestOutputMakesItsDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "docs", "a.md")
	var o Output
	f := flag.NewFlagSet("", flag.ContinueOnError)
	o.Flag(f)
	if err := f.Parse([]string{"-o", path}); err != nil {
		t.Fatal(err)
	}
	s := New("A")
	if err := o.Write(io.Discard, s); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s.String(), string(got)); d != "" {
		t.Errorf("file (-want +got):\n%s", d)
	}
}

func TestProgram(t *testing.T) {
	var n int
	p := Program{Name: "count", Title: "A count", Flags: func(f *flag.FlagSet) { f.IntVar(&n, "n", 1, "what to write") },
		Measure: func(_ context.Context, s *Section, log io.Writer) error {
			s.Para("It is %d.", n)
			_, err := io.WriteString(log, "done")
			return err
		}}
	var out, log strings.Builder
	if err := p.Run(t.Context(), []string{"-n", "7"}, &out, &log); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "## A count\n") || !strings.HasSuffix(out.String(), "It is 7.\n") || log.String() != "done" {
		t.Errorf("section %q, log %q", out.String(), log.String())
	}
	if err := p.Run(t.Context(), []string{"-m"}, io.Discard, &log); err == nil || !strings.Contains(log.String(), "-o file") {
		t.Errorf("an unknown flag: error %v, log %q, want an error and the flags", err, log.String())
	}
}

// TestProgramThatDoesNotMeetItsBounds: the figures are wanted most when they are
// not what they should be.
func TestProgramThatDoesNotMeetItsBounds(t *testing.T) {
	p := Program{Name: "count", Title: "A count", Measure: func(_ context.Context, s *Section, _ io.Writer) error {
		s.Para("It is too much.")
		return fmt.Errorf("count: %w", ErrUnmet)
	}}
	var out strings.Builder
	if err := p.Run(t.Context(), nil, &out, io.Discard); !errors.Is(err, ErrUnmet) {
		t.Errorf("error %v, want %v", err, ErrUnmet)
	}
	if !strings.HasSuffix(out.String(), "It is too much.\n") {
		t.Errorf("section %q", out.String())
	}
}
