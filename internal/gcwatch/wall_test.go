package gcwatch

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestWallStep steps the wall clock of the watcher and of what the runtime
// records, and compares each end with an instant that no step touches.
func TestWallStep(t *testing.T) {
	settle(t)
	for _, step := range []time.Duration{time.Hour, -time.Hour, 20 * time.Millisecond, -3 * time.Millisecond} {
		t.Run(step.String(), func(t *testing.T) {
			var j journal
			w := steady(t)
			look := func() { w.look(); j.note(&w.batch, &w.seen) }
			var at stall.Instant // of the step
			measure, read := w.reader.wall.measure, w.reader.readGC
			offset := measure().Offset
			w.reader.wall.measure = func() stall.WallOffset {
				m := measure()
				if at != 0 && m.At >= at {
					m.Offset += step
				}
				return m
			}
			w.reader.readGC = func(s *debug.GCStats) {
				read(s)
				for i, end := range s.PauseEnd {
					if at != 0 && stall.Instant(end.UnixNano()-int64(offset)) >= at {
						s.PauseEnd[i] = end.Add(step)
					}
				}
			}
			look()
			var bounds []stall.Span
			collect := func() {
				from := w.reader.now()
				runtime.GC()
				bounds = append(bounds, stall.Span{Start: from, End: w.reader.now()})
			}
			before := len(j.collections)
			collect()
			collect()
			at = w.reader.now()
			collect()
			collect()
			look()
			collect()
			look()
			if got := len(j.collections) - before; got != len(bounds) {
				t.Fatalf("collections: got %d, want %d", got, len(bounds))
			}
			for i, c := range j.collections[before:] {
				p := c.Pauses[len(c.Pauses)-1]
				if p.End.Add(p.Slack) < bounds[i].Start || p.End.Add(-p.Slack) > bounds[i].End {
					t.Errorf("cycle %d: end %d +- %v, want in %v", i, p.End, p.Slack, bounds[i])
				}
			}
		})
	}
}

func TestInstantBetweenTwoMarks(t *testing.T) {
	mark := func(at, offset time.Duration) stall.WallOffset {
		return stall.WallOffset{At: stall.Instant(at), Offset: offset, Error: 1}
	}
	for _, tt := range []struct {
		name  string
		marks [4]time.Duration
		wall  int64
		want  stall.Instant
		slack time.Duration
	}{
		{"no step", [4]time.Duration{1e6, 1e6, 1e6, 1e6}, 1e6 + 150, 150, 1},
		{"a step too large for the span", [4]time.Duration{1e6, 1e6, 9e6, 9e6}, 9e6 + 150, 150, 1},
		{"a step that leaves both open", [4]time.Duration{1e6, 1e6, 1e6 + 40, 1e6 + 40}, 1e6 + 160, 140, 21},
		{"two steps that leave none", [4]time.Duration{1e6, 1e6, 1e6, 1e6}, 5e6, 150, 50},
	} {
		h := wallHistory{}
		for i, o := range tt.marks {
			h.marks[i] = mark(time.Duration(100*i), o)
		}
		got, slack := h.instant(tt.wall, stall.Span{Start: 100, End: 200})
		if got != tt.want || slack != tt.slack {
			t.Errorf("%s: got %d +- %d, want %d +- %d", tt.name, got, slack, tt.want, tt.slack)
		}
	}
}
