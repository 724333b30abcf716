package oracle

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"golang.org/x/exp/trace"

	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

// TestSnapshots: where a trace has both, a tick is 64 ns of what its snapshot read of
// CLOCK_MONOTONIC. So it is without a snapshot, too.
func TestSnapshots(t *testing.T) {
	const tick = 64
	for _, c := range append(gotracetest.Captures(t, "../testdata"), gotracetest.Captures(t, "../testdata/tasks")...) {
		t.Run(c.Name, func(t *testing.T) {
			r, err := trace.NewReader(bytes.NewReader(c.Bytes))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for {
				ev, err := r.ReadEvent()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if ev.Kind() != trace.EventSync || ev.Sync().ClockSnapshot == nil {
					continue
				}
				n++
				// The ticks are rounded down, and read after the other.
				if s := ev.Sync().ClockSnapshot; int64(s.Mono)-int64(s.Trace) <= -tick || int64(s.Mono)-int64(s.Trace) >= tick {
					t.Errorf("the snapshot has %d ns of CLOCK_MONOTONIC where the ticks have %d", s.Mono, s.Trace)
				}
			}
			if has := !strings.Contains(c.Name, "1.22") && !strings.Contains(c.Name, "1.23") && !strings.Contains(c.Name, "1.24"); n > 0 != has {
				t.Errorf("%d snapshots, want some: %v", n, has)
			}
		})
	}
}
