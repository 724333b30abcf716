package gotrace_test

import (
	"bytes"
	"context"
	"runtime/trace"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/stall"
)

// TestCreated: the track of a goroutine that a go statement created in the
// generation says so, and begins with its first wait for a P; that of an older one
// does not.
func TestCreated(t *testing.T) {
	mark := func(name string, done chan<- bool) {
		trace.Log(context.Background(), gotracetest.MarkPrefix+name, "")
		done <- true
	}
	done, begin := make(chan bool), make(chan bool)
	go func() {
		<-begin
		mark("old", done)
	}()
	var data bytes.Buffer
	if err := trace.Start(&data); err != nil {
		t.Skipf("skipped: somebody else traces: %v", err)
	}
	begin <- true
	<-done
	go mark("new", done)
	<-done
	trace.Stop()

	got := make(map[string]bool)
	err := all(t, data.Bytes(), gotrace.Options{MarkPrefix: gotracetest.MarkPrefix}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		who := make(map[uint64]string)
		for _, m := range g.Marks {
			who[m.Goroutine] = strings.TrimPrefix(m.Key, gotracetest.MarkPrefix)
		}
		for i := range g.Tracks {
			track := &g.Tracks[i]
			name, ok := who[track.Goroutine]
			if !ok {
				continue
			}
			got[name] = track.Created
			for s := range track.Spans {
				if track.Created && (s.State != stall.StateRunnable || s.Start <= g.Start) {
					t.Errorf("%s: it begins %v at %d of a generation from %d, want runnable and later", name, s.State, s.Start, g.Start)
				}
				break
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"old": false, "new": true}, got); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
}
