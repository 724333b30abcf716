package gotrace_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

// TestFollowWithoutAMark: a goroutine that is known from before has the states
// that its mark would have given it.
func TestFollowWithoutAMark(t *testing.T) {
	data := gotracetest.Record(t, 50*time.Millisecond)
	var marked laid
	before, found := 0, false // generations before that of its mark: it may have begun in one
	err := all(t, data, gotrace.Options{MarkPrefix: gotracetest.MarkPrefix}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		switch {
		case found:
		case len(g.Tracks) > 0:
			marked, found = layOut(g)[0], true
		default:
			before++
		}
	})
	if err != nil || !found {
		t.Fatalf("no marked goroutine: %v", err)
	}
	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{MarkPrefix: "nobody's."})
	if err != nil {
		t.Fatal(err)
	}
	for range before {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	r.Follow(marked.Goroutine)
	g, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]laid{marked}, layOut(g)); diff != "" {
		t.Errorf("track (-marked +followed):\n%s", diff)
	}
}
