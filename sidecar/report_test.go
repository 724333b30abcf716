package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/sidecar/internal/report"
)

const (
	goTrace = "../internal/gotrace/testdata/go1.26.8.trace"
	capture = "../internal/nettrace/testdata/loh.nettrace"
	killed  = "../internal/nettrace/testdata/target_sigkill.nettrace"
)

func TestReport(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"report", goTrace}, "WHAT go1.26.8.trace STOPPED FOR"},
		{[]string{"report", capture}, "gen 2, background"},
		{[]string{"report", killed}, "the file is cut off"},
		{[]string{"report", goTrace, capture}, "WHAT loh.nettrace STOPPED FOR"},
		{[]string{"report", "--perfview", capture}, "RestartEEEnd"},
		{[]string{"report", goTrace, "--perfview"}, "nothing to compare"},
		{[]string{"report", "--html", capture}, "<title>loh.nettrace - otelgc-sidecar report</title>"},
		{[]string{"report", "--csv", capture}, "Num,PauseStart,Reason,Gen,PauseMSec,"},
		{[]string{"report", "--", goTrace}, "WHAT go1.26.8.trace STOPPED FOR"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			stdout, stderr, code := sidecar(t, nil, tt.args...)
			if code != 0 || stderr != "" || !strings.Contains(stdout, tt.want) {
				t.Errorf("exit %d, stderr %q, stdout\n%s\nwant exit 0 and %q", code, stderr, stdout, tt.want)
			}
		})
	}
}

func TestReportJSON(t *testing.T) {
	for file, collections := range map[string]int{goTrace: 4, capture: 23, killed: 2} {
		stdout, stderr, code := sidecar(t, nil, "report", file, "--json")
		if code != 0 || stderr != "" {
			t.Fatalf("%s: exit %d: %s", file, code, stderr)
		}
		d := one[report.Report](t, stdout)
		if d.Schema != report.Schema || len(d.Collections) != collections || d.Source.File != file {
			t.Errorf("%s: schema %q, %d collections, file %q, want %d", file, d.Schema, len(d.Collections), d.Source.File, collections)
		}
		if (len(d.Incomplete) > 0) != (file == killed) {
			t.Errorf("%s: incomplete %+v", file, d.Incomplete)
		}
	}
}

func TestReportCSV(t *testing.T) {
	stdout, _, code := sidecar(t, nil, "report", "--csv", capture)
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if code != 0 || err != nil || len(rows) != 24 {
		t.Errorf("exit %d, %d rows (%v), want a head and 23", code, len(rows), err)
	}
}

// TestReportOnSeveral: what is wrong with one file keeps no other from being shown,
// and the exit code tells of the worst.
func TestReportOnSeveral(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	cut := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(cut, []byte("otelgc recording 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := sidecar(t, nil, "report", cut, goTrace, none, capture, cut)
	if code != 2 || strings.Count(stderr, "\n") != 3 || !strings.HasSuffix(stderr, "otelgc-sidecar: report: open "+none+": no such file or directory: name a Go trace, a .nettrace file, a recording of otelgc-sidecar run --record, or the .json of a captured request\n") {
		t.Errorf("exit %d, stderr %q, want exit 2 and three lines, the worst last", code, stderr)
	}
	for _, want := range []string{"WHAT go1.26.8.trace STOPPED FOR", "WHAT loh.nettrace STOPPED FOR"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, stdout)
		}
	}
}

// TestReportOnBadInput holds to it that what is wrong is one line that names the
// file, where, and the mend.
func TestReportOnBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := write("text", "hello, world")
	future := write("future", "go 1.99 trace\x00\x00\x00")
	whole, err := os.ReadFile(capture)
	if err != nil {
		t.Fatal(err)
	}
	several := write("several", string(whole)+string(bytes.Repeat([]byte("go 1.26 trace\x00\x00\x00"), 9)))
	tests := []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"report"}, 2, []string{"no FILE: name a Go trace"}},
		{[]string{"report", "--fast", goTrace}, 2, []string{"unknown flag --fast"}},
		{[]string{"report", "--json", goTrace, capture}, 2, []string{"want one file, got 2"}},
		{[]string{"report", "--json", "--csv", goTrace}, 2, []string{"want one of them"}},
		{[]string{"report", "--perfetto", filepath.Join(dir, "out"), "--json", goTrace}, 2, []string{"want one of them"}},
		{[]string{"report", "--perfetto", filepath.Join(dir, "out"), goTrace, capture}, 2, []string{"want one file, got 2"}},
		{[]string{"report", "--perfetto", dir, goTrace}, 1, []string{"write perfetto trace: open " + dir + ": is a directory"}},
		{[]string{"report", "--perfetto", filepath.Join(dir, "out"), text}, 2, []string{text, "byte 0"}},
		{[]string{"report", "--html", text}, 2, []string{text, "byte 0"}},
		{[]string{"report", filepath.Join(dir, "none")}, 2, []string{"report: open " + filepath.Join(dir, "none") + ": no such file or directory"}},
		{[]string{"report", dir}, 2, []string{"report: open " + dir + ": it is a directory: name a file in it"}},
		{[]string{"report", text}, 2, []string{text, "byte 0", "want what runtime/trace"}},
		{[]string{"report", future}, 1, []string{future, "this is go 1.99", "supported are"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			stdout, stderr, code := sidecar(t, nil, tt.args...)
			if code != tt.code || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q, want exit %d and one line", code, stdout, stderr, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q, want %q in it", stderr, want)
				}
			}
		})
	}
	// What follows the end of a stream is not of it; what was before it counts.
	stdout, stderr, code := sidecar(t, nil, "report", several)
	want := fmt.Sprintf("%s: byte %d: the stream ends here, and ", several, len(whole))
	if code != 1 || !strings.Contains(stderr, want) || !strings.Contains(stdout, "23 garbage collections") {
		t.Errorf("a file of two recordings: exit %d, stderr %q, want exit 1 and %q", code, stderr, want)
	}
}
