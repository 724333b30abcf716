package verb

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	tests := []struct {
		in   string
		want uint64
		ok   bool
	}{
		{"1", 1, true}, {"64MiB", 64 << 20, true}, {"64M", 64 << 20, true}, {"64mb", 64 << 20, true}, {"2GiB", 2 << 30, true},
		{"3k", 3 << 10, true}, {"10 MiB", 10 << 20, true},
		{"", 0, false}, {"MiB", 0, false}, {"-1", 0, false}, {"1.5GiB", 0, false}, {"1TiB", 0, false}, {"99999999999GiB", 0, false}, {"1iB", 0, false},
	}
	for _, tt := range tests {
		got, err := parseSize(tt.in)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("parseSize(%q) = %d, %v, want %d and ok: %v", tt.in, got, err, tt.want, tt.ok)
		}
	}
}

// TestComplaintsAreRare: the longer a Collector is dead, the less is said of it.
func TestComplaintsAreRare(t *testing.T) {
	var b bytes.Buffer
	c := newComplaints(slog.New(slog.NewTextHandler(&b, nil)))
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return now }
	lines := func(d time.Duration) int {
		b.Reset()
		for end := now.Add(d); now.Before(end); now = now.Add(time.Second) {
			c.Handle(errors.New("connection refused:\ncollector"))
		}
		return strings.Count(b.String(), "\n")
	}
	if n := lines(10 * time.Second); n != 1 || !strings.Contains(b.String(), "refused:; collector") || !strings.Contains(b.String(), "OTEL_METRICS_EXPORTER=none") {
		t.Errorf("10 complaints in 10 s made %d lines, want one with the mend: %s", n, b.String())
	}
	if n := lines(8 * time.Hour); n < 8*6 || n > 8*6+10 || strings.Contains(b.String(), "mend=") {
		t.Errorf("a night made %d lines, want about 6 an hour, and not the mend in each", n)
	}
	now = now.Add(time.Hour) // it was well for so long
	if n := lines(11 * time.Second); n != 2 || !strings.Contains(b.String(), "mend=") {
		t.Errorf("a new trouble made %d lines in 11 s, want 2 and the mend: %s", n, b.String())
	}
	c.end()
	if n := lines(time.Hour); n != 0 {
		t.Errorf("%d lines after the end, want none", n)
	}
}

// TestHelpNamesFlagsAsTheyAreWritten: with two dashes, and no number of a CPU that
// is none.
func TestHelpNamesFlagsAsTheyAreWritten(t *testing.T) {
	for name, verb := range verbs {
		var out bytes.Buffer
		if err := verb(env{stdout: &out}, []string{"--help"}); !errors.Is(err, errHelp) {
			t.Fatalf("%s --help: %v", name, err)
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "  -") && !strings.HasPrefix(line, "  --") || strings.Contains(line, "default -1") {
				t.Errorf("%s --help has the line %q", name, line)
			}
		}
	}
}
