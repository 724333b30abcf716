package e2e

import (
	"strings"
	"testing"
)

// TestLastWords: of a program that has ended all is known that it printed.
func TestLastWords(t *testing.T) {
	const want = 10_000 // lines, most of which are in the pipe when it ends
	p := start(t, nil, "seq", "10000")
	p.wait(t)
	if got := strings.Count(p.output(), "\n"); got != want {
		t.Errorf("%d lines are known, want %d", got, want)
	}
}
