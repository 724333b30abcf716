package doctor

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

var update = flag.Bool("update", false, "write what testdata holds of reports")

func TestMachines(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no machines: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			f := readFake(t, path)
			report, err := run(root{f.files}, "amd64", f.live(), f.ask(t))
			if err != nil {
				t.Fatal(err)
			}
			checkSane(t, report)
			var got strings.Builder
			if err := report.Print(&got, Layout{Columns: textfmt.Width}); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, ".txtar")+".txt", got.String())
			checkNarrow(t, report, got.String())
		})
	}
}

// checkNarrow holds the table to a narrow terminal: each line has its place there, that
// of a long path, too, and the text is that of the wide one.
func checkNarrow(t *testing.T, r *Report, wide string) {
	t.Helper()
	const narrow = 80
	var got strings.Builder
	if err := r.Print(&got, Layout{Columns: narrow}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(got.String()) {
		line = strings.TrimRight(line, "\n")
		if len(line) > narrow {
			t.Errorf("line of %d columns, at most %d:\n%s", len(line), narrow, line)
		}
	}
	if diff := cmp.Diff(strings.Fields(wide), strings.Fields(got.String())); diff != "" {
		t.Errorf("text (-wide +narrow):\n%s", diff)
	}
}

// TestDocument: other programs read the names, the order and the shape of the
// document. A change of them is another schema, or a field more.
func TestDocument(t *testing.T) {
	f := readFake(t, "testdata/metal.txtar")
	report, err := run(root{f.files}, "amd64", f.live(), f.ask(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/metal.json", string(got)+"\n")
}

// golden holds got to a file, or writes it with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// checkSane is what holds for every report of every machine.
func checkSane(t *testing.T, r *Report) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range r.Checks {
		switch c.Status {
		case OK, Info, NA:
		case Warn, Fail:
			if c.Advice == "" {
				t.Errorf("%s: %s without advice", c.ID, c.Status)
			}
		default:
			t.Errorf("%s: status %q", c.ID, c.Status)
		}
		if c.Value == "" {
			t.Errorf("%s: no value", c.ID)
		}
		if seen[c.ID] {
			t.Errorf("%s: twice", c.ID)
		}
		seen[c.ID] = true
	}
}

func TestNothingKnownIsNotOK(t *testing.T) {
	f := readFake(t, "testdata/nothing.txtar")
	report, err := run(root{f.files}, "amd64", f.live(), f.ask(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Status == OK {
			t.Errorf("%s: ok (%s) on a machine without files", c.ID, c.Value)
		}
	}
}

func TestIsolatedByAPartition(t *testing.T) {
	files := fstest.MapFS{isolatedFile: {Data: []byte("\n")}, partitionsFile: {Data: []byte("2-3\n")}}
	for cpu, want := range map[int]bool{1: false, 3: true} {
		m := &machine{root: root{files}, cpu: cpu}
		if got := m.isolated(); got != want {
			t.Errorf("CPU %d: isolated %v, want %v", cpu, got, want)
		}
	}
}
