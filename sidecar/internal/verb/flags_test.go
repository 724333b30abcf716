package verb

import (
	"bytes"
	"errors"
	"log/slog"
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

func TestComplaintsAreRare(t *testing.T) {
	var b bytes.Buffer
	c := newComplaints(slog.New(slog.NewTextHandler(&b, nil)))
	for range 100 {
		c.Handle(errors.New("dead\ncollector"))
	}
	if n := strings.Count(b.String(), "\n"); n != 1 || !strings.Contains(b.String(), "dead; collector") {
		t.Errorf("100 complaints made %d lines: %s", n, b.String())
	}
	if c.left != 99 {
		t.Errorf("%d complaints were counted, want 99", c.left)
	}
}
