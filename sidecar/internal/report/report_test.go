package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/goldentest"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

var update = flag.Bool("update", false, "write the golden files anew")

// compareMaybe lets go-cmp look into Maybe, and at what is in the document alone.
var compareMaybe = cmp.Options{
	cmp.Exporter(func(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Maybe[") }),
	cmpopts.IgnoreUnexported(Collection{}, Host{}), cmpopts.EquateEmpty(),
}

// checkGolden prints the report of a file in every form.
func checkGolden(t *testing.T, path, name string) {
	t.Helper()
	r, err := ReadFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Source.File = filepath.Base(path)
	for form, print := range map[string]func(*bytes.Buffer) error{
		"txt":          func(b *bytes.Buffer) error { return r.Print(b) },
		"csv":          func(b *bytes.Buffer) error { return r.PrintCSV(b) },
		"perfview.txt": func(b *bytes.Buffer) error { return r.PrintPerfView(b) },
		"json": func(b *bytes.Buffer) error {
			e := json.NewEncoder(b)
			e.SetIndent("", " ")
			return e.Encode(r)
		},
	} {
		var b bytes.Buffer
		if err := print(&b); err != nil {
			t.Fatal(err)
		}
		goldentest.Check(t, name+"."+form, b.Bytes(), *update)
		if strings.HasSuffix(form, "txt") {
			checkWidth(t, b.String())
		}
	}
}

func checkWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > textfmt.Width {
			t.Errorf("line of %d columns, at most %d:\n%s", n, textfmt.Width, line)
		}
	}
}

func TestUnknownContent(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"empty", "", "it is empty"},
		{"text", "hello, world\n", "want what runtime/trace"},
		{"gzip", "\x1f\x8b\x08\x00", "unpack it first"},
		{"zip", "PK\x03\x04", "unpack it first"},
		{"json", `{"schema":"otelgc.report/1"}`, "looks like JSON"},
		{"netperf", "\x14\x00\x00\x00!FastSerialization.1", "record with 3.0 or later"},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), tt.name)
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ReadFile(path, Options{})
		if r != nil || !errors.Is(err, ErrUnknown) || !strings.HasPrefix(err.Error(), path+": byte 0: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: report %v, error %v, want one of byte 0 that says %q", tt.name, r != nil, err, tt.want)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, ErrOpen) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestUnknownVersion(t *testing.T) {
	for content, want := range map[string]string{
		"go 1.21 trace\x00\x00\x00": "this is go 1.21, supported are go 1.22,",
		"go 1.99 trace\x00\x00\x00": "or use a newer otelgc-sidecar",
		"go 1.x trace\x00\x00\x00":  "not a Go execution trace",
	} {
		r, err := Read("x", strings.NewReader(content), Options{})
		if r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: report %v, error %v, want %q", content, r != nil, err, want)
		}
	}
}

func TestSpread(t *testing.T) {
	of := func(n int) Spread {
		list := make([]time.Duration, n)
		for i := range list {
			list[i] = time.Duration(n - i) // not in order
		}
		return spreadOf(list)
	}
	known, unknown := gc.Known[time.Duration], gc.Maybe[time.Duration]{}
	for _, tt := range []struct {
		n    int
		want Spread
	}{
		{0, Spread{}},
		{1, Spread{Count: 1, Max: 1, Total: 1}},
		{19, Spread{Count: 19, Max: 19, Total: 190}},
		{20, Spread{Count: 20, P50: known(10), Max: 20, Total: 210}},
		{99, Spread{Count: 99, P50: known(50), Max: 99, Total: 4950}},
		{100, Spread{Count: 100, P50: known(50), P90: known(90), Max: 100, Total: 5050}},
		{1000, Spread{Count: 1000, P50: known(500), P90: known(900), P99: known(990), Max: 1000, Total: 500_500}},
		{9999, Spread{Count: 9999, P50: known(5000), P90: known(9000), P99: known(9900), P999: unknown, Max: 9999, Total: 49_995_000}},
		{10_000, Spread{Count: 10_000, P50: known(5000), P90: known(9000), P99: known(9900), P999: known(9990), Max: 10_000, Total: 50_005_000}},
	} {
		if diff := cmp.Diff(tt.want, of(tt.n), compareMaybe); diff != "" {
			t.Errorf("spread of %d samples (-want +got):\n%s", tt.n, diff)
		}
	}
}

func TestWhatIsOverALimitIsNamed(t *testing.T) {
	r := Report{
		Collections: slices.Repeat([]*Collection{{}}, MaxCollections-1),
		Suspensions: make([]recording.Suspension, MaxSuspensions-1),
		Incomplete:  make([]Hole, MaxIncomplete-1),
	}
	for range 4 {
		r.addHole(Hole{Why: "x"})
	}
	for range 2 {
		r.addSuspension(recording.Suspension{})
	}
	for range 3 {
		r.addCollection(&Collection{})
	}
	r.settle()
	var got []string
	for _, h := range r.Incomplete[MaxIncomplete:] {
		got = append(got, h.Why)
	}
	want := []string{
		"2 collections more than a report holds",
		"1 suspension more than a report holds",
		"3 holes more than a report holds",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is named (-want +got):\n%s", diff)
	}
}
