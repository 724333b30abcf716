package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

func TestColourOnTerminalsOnly(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if Colourful(&bytes.Buffer{}) {
		t.Error("a buffer is taken for a terminal")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if Colourful(file) {
		t.Error("a file is taken for a terminal")
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	defer func() { _ = terminal.Close() }()
	if !Colourful(terminal) {
		t.Error("a terminal is not taken for one")
	}
	t.Setenv("NO_COLOR", "1")
	if Colourful(terminal) {
		t.Error("colour in spite of NO_COLOR")
	}
}

func TestColourIsAllThatDiffers(t *testing.T) {
	f := readFake(t, "testdata/vm-steal.txtar")
	report, err := run(root{f.files}, "amd64", f.live(), f.ask(t))
	if err != nil {
		t.Fatal(err)
	}
	var without, with strings.Builder
	if err := report.Print(&without, Layout{Columns: textfmt.Width}); err != nil {
		t.Fatal(err)
	}
	if err := report.Print(&with, Layout{Colour: true, Columns: textfmt.Width}); err != nil {
		t.Fatal(err)
	}
	got := with.String()
	for _, code := range colours {
		got = strings.ReplaceAll(got, code, "")
	}
	if got = strings.ReplaceAll(got, plain, ""); got != without.String() || got == with.String() {
		t.Errorf("coloured table without its colours:\n%s", got)
	}
}

// TestNamesCommandNoTerminal: a process may choose its name.
func TestNamesCommandNoTerminal(t *testing.T) {
	var b strings.Builder
	r := &Report{Checks: []Check{{ID: "competitors", Status: Warn, Value: "\x1b[2J\u009b1m (7)"}}}
	if err := r.Print(&b, Layout{Columns: 80}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.ContainsAny(text, "\x1b\u009b") || !strings.Contains(text, "?[2J?1m (7)") {
		t.Errorf("printed %q, want question marks for control characters", text)
	}
}
