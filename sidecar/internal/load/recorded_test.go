package load_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/load"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		want       load.Schedule
		err        string
	}{
		{name: "nanoseconds", text: "1000\n1500\n4000\n", want: load.Schedule{0, 500, 3000}},
		{name: "units", text: "1000ns\n1500ns\n", want: load.Schedule{0, 500}},
		{name: "seconds", text: "1732171486.000000001\n1732171486.5\n", want: load.Schedule{0, 499999999}},
		{name: "seconds with unit", text: "2s\n2.25s\n3s\n", want: load.Schedule{0, 250 * time.Millisecond, time.Second}},
		{name: "comments", text: "# epoch\n\n 0.0 # first\n0.000001\n", want: load.Schedule{0, 1000}},
		{name: "no line end", text: "5\n6", want: load.Schedule{0, 1}},
		{name: "the same instant", text: "7\n7\n7\n8\n", want: load.Schedule{0, 1, 2, 3}},
		{name: "more digits than nanoseconds", text: "0.0\n0.0000000019\n", want: load.Schedule{0, 1}},
		{name: "empty", text: "", err: "a.txt: no arrivals: want one number per line"},
		{name: "backwards", text: "2\n\n1\n", err: "a.txt:3: arrival 1 is before the one above it: sort the file (without a point it is nanoseconds)"},
		{name: "no number", text: "1\nx\n", err: `a.txt:2: parse arrival "x": want whole nanoseconds, or seconds with a point`},
		{name: "negative", text: "-1\n", err: `a.txt:1: parse arrival "-1": want whole nanoseconds, or seconds with a point`},
		{name: "infinite", text: "Inf\n", err: `a.txt:1: parse arrival "Inf": want whole nanoseconds, or seconds with a point`},
		{name: "fraction of ns", text: "1.5ns\n", err: `a.txt:1: parse arrival "1.5ns": want whole nanoseconds, or seconds with a point`},
		{name: "too large", text: "99999999999999999999\n", err: `a.txt:1: parse arrival "99999999999999999999": want whole nanoseconds, or seconds with a point`},
		{name: "too long after", text: "0\n3600000000001\n", err: "a.txt:2: arrival 3600000000001 is more than 1h0m0s after the first: split the file"},
		{name: "long line", text: "1\n" + strings.Repeat("9", 1000), err: "a.txt:2: line is longer than 256 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := load.Parse("a.txt", strings.NewReader(tt.text))
			if text := errText(err); text != tt.err {
				t.Errorf("Parse: error %q, want %q", text, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParseBoundsArrivals(t *testing.T) {
	text := strings.Repeat("1\n", load.MaxArrivals+1)
	if _, err := load.Parse("many", strings.NewReader(text)); err == nil {
		t.Errorf("Parse of %d arrivals: no error", load.MaxArrivals+1)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestParsePassesOnReadErrors(t *testing.T) {
	_, err := load.Parse("a.txt", brokenReader{})
	if want := "read arrivals a.txt: disk on fire"; errText(err) != want {
		t.Errorf("Parse: error %q, want %q", errText(err), want)
	}
}

// FuzzParse holds the parser to its contract: an error, or arrivals that begin
// at zero, rise strictly and stay in bounds.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1\n2\n", "0.5\n0.75s\n", "# x\n1732171486.123456789\n", "7\n7\n", "1ns", "s", ".", "1.\n", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load.Parse("f", strings.NewReader(text))
		if (err != nil) == (s != nil) {
			t.Fatalf("Parse(%q) = %v, %v: want one of them", text, s, err)
		}
		for i, at := range s {
			if i == 0 && at != 0 || i > 0 && at <= s[i-1] {
				t.Fatalf("Parse(%q): arrival %d at %d after %v", text, i, at, s[:i])
			}
		}
		// Arrivals at one instant are spread by a nanosecond each.
		if s.Span() > load.MaxSpan+load.MaxArrivals {
			t.Fatalf("Parse(%q): last arrival at %v", text, s.Span())
		}
	})
}
