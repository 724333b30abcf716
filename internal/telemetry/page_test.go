package telemetry

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/semconv"
)

// TestPage: the page's text says the bounds, limits and numbers of the code.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"in seconds: " + numbers(bounds()) + ".", "in bytes: " + numbers(sizeBounds()) + ".",
		fmt.Sprintf("from %v on", GapEventThreshold), fmt.Sprintf("At most %d events", DefaultMaxEventsPerSecond),
		fmt.Sprintf("%d values of %s and %s, %d ranges of latency", MaxRoutes, code(semconv.AttrRoute), code(OtherRoute), len(semconv.Buckets)),
	}
	for _, n := range numberList() {
		want = append(want, fmt.Sprintf("| %s | %s | %s |", n.meaning, n.part, n.of))
	}
	for _, w := range want {
		if !strings.Contains(string(page), w) {
			t.Errorf("docs/telemetry.md does not say %q: semconv/registry/telemetry.md.tmpl has its text", w)
		}
	}
}

func code(s string) string { return "`" + s + "`" }

func numbers(all []float64) string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = fmt.Sprint(n)
		if n >= 1e6 {
			words[i] = fmt.Sprintf("%.0f", n)
		}
	}
	return strings.Join(words, ", ")
}
