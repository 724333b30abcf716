package cli

import (
	"bytes"
	"strings"
	"testing"
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

// TestHelpNamesFlagsAsTheyAreWritten: with two dashes, and no number of a CPU that
// is none.
func TestHelpNamesFlagsAsTheyAreWritten(t *testing.T) {
	for _, c := range commands {
		name := c.name
		var out, same bytes.Buffer
		if code := Main([]string{name, "--help"}, &out, &out); code != Done {
			t.Fatalf("%s --help: exit code %d: %s", name, code, out.String())
		}
		if Main([]string{"help", name}, &same, &same); same.String() != out.String() {
			t.Errorf("help %s differs from %s --help", name, name)
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "  -") && !strings.HasPrefix(line, "  --") || strings.Contains(line, "default -1") {
				t.Errorf("%s --help has the line %q", name, line)
			}
		}
	}
}
