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
	err := all(t, data, gotrace.Options{MarkPrefix: gotracetest.MarkPrefix}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		if marked.Goroutine == 0 && len(g.Tracks) > 0 {
			marked = layOut(g)[0]
		}
	})
	if err != nil || marked.Goroutine == 0 {
		t.Fatalf("no marked goroutine: %v", err)
	}
	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{MarkPrefix: "nobody's."})
	if err != nil {
		t.Fatal(err)
	}
	r.Follow(marked.Goroutine)
	for {
		g, err := r.Next()
		if err != nil {
			t.Fatal("the goroutine has no track")
		}
		if len(g.Tracks) == 0 {
			continue
		}
		if diff := cmp.Diff([]laid{marked}, layOut(g)); diff != "" {
			t.Errorf("track (-marked +followed):\n%s", diff)
		}
		return
	}
}
