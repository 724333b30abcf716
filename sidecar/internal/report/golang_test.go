package report

import (
	"bytes"
	"io"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// goTestdata holds traces that programs of several Go versions recorded.
const goTestdata = "../../../internal/gotrace/testdata"

func TestGoTrace(t *testing.T) {
	for _, version := range []string{"go1.22.12", "go1.26.8"} {
		t.Run(version, func(t *testing.T) {
			checkGolden(t, filepath.Join(goTestdata, version+".trace"), version)
		})
	}
}

// shared is what recorded returns.
var shared struct {
	sync.Once
	data   []byte
	forced int // collections while it was recorded, as the runtime counted them
}

func forcedCycles() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// recorded returns a trace of this process of two generations or more, of which the
// runtime begins one a second where it has a CPU for it.
func recorded(t *testing.T) []byte {
	t.Helper()
	shared.Do(func() {
		for d := 2200 * time.Millisecond; len(generationEnds(t, shared.data)) < 2; d *= 2 {
			if shared.data != nil && d > time.Minute {
				t.Fatal("no second generation began in half a minute")
			}
			before := forcedCycles()
			shared.data = gotracetest.Record(t, d)
			shared.forced = int(forcedCycles() - before)
		}
	})
	if shared.data == nil {
		t.Skip("skipped: nothing could be recorded")
	}
	return shared.data
}

// generationEnds returns the offsets at which the generations of a trace end.
func generationEnds(t *testing.T, data []byte) (ends []int) {
	t.Helper()
	if data == nil {
		return nil
	}
	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{})
	for err == nil {
		if _, err = r.Next(); err == nil {
			ends = append(ends, int(r.Offset()))
		}
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	return ends
}

// stopsOf decodes a trace by itself: every stop of the world in it.
func stopsOf(t *testing.T, data []byte) (gcStops, others []stall.Span) {
	t.Helper()
	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		g, err := r.Next()
		if err == io.EOF {
			return gcStops, others
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range g.Stops {
			if s.GC {
				gcStops = append(gcStops, stall.Span{Start: s.Start, End: s.Over()})
			} else {
				others = append(others, stall.Span{Start: s.Start, End: s.Over()})
			}
		}
	}
}

// TestEveryStopOfAGoTraceIsReportedOnce holds the report to the trace: each stop
// is a pause of one collection or a suspension.
func TestEveryStopOfAGoTraceIsReportedOnce(t *testing.T) {
	cases := append(gotracetest.GoTestdata(t), gotracetest.Captures(t, goTestdata)...)
	cases = append(cases, gotracetest.Case{Name: "recorded", Good: true, Bytes: recorded(t)})
	collections := 0
	for _, c := range cases {
		if !c.Good {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			r, err := Read(c.Name, bytes.NewReader(c.Bytes), Options{})
			if err != nil {
				t.Skipf("skipped: not decodable: %v", err) // gotrace's own tests say which must be
			}
			wantGC, wantOther := stopsOf(t, c.Bytes)
			var pauses, others []stall.Span
			for i := range r.Collections {
				for _, p := range r.Collections[i].Pauses {
					pauses = append(pauses, stall.Span{Start: p.Start, End: p.End})
				}
			}
			for _, s := range r.Suspensions {
				if strings.HasPrefix(s.Reason, "GC ") {
					pauses = append(pauses, s.Span)
				} else {
					others = append(others, s.Span)
				}
			}
			if diff := cmp.Diff(wantGC, pauses); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantOther, others); diff != "" {
				t.Errorf("suspensions (-want +got):\n%s", diff)
			}
			collections += len(r.Collections)
		})
	}
	if collections < 50 {
		t.Errorf("%d collections in all traces together, want 50 or more: the test sees nothing", collections)
	}
}

// TestRecordedTrace reports on a trace of this very process, which forces
// collections and stops the world for other reasons.
func TestRecordedTrace(t *testing.T) {
	r, err := Read("recorded", bytes.NewReader(recorded(t)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole, forced := 0, 0
	for i := range r.Collections {
		c := r.Collections[i]
		if c.Trigger == gc.TriggerForced {
			forced++
		}
		if n := len(c.Pauses); n >= 2 && c.Pauses[0].Phase == gc.SweepTermination && c.Pauses[n-1].Phase == gc.MarkTermination {
			whole++
		}
	}
	// One at either end of the trace may not be in it as a whole.
	if forced == 0 || forced > shared.forced || forced < shared.forced-2 || whole < forced {
		t.Errorf("%d forced collections, %d with first and last pause, want the %d that the runtime counted", forced, whole, shared.forced)
	}
	if !slices.ContainsFunc(r.Suspensions, func(s recording.Suspension) bool {
		return s.Reason == "read mem stats" && strings.HasPrefix(s.Caller, "runtime.ReadMemStats < ")
	}) {
		t.Errorf("no stop by runtime.ReadMemStats among %v", r.reasons())
	}
	if r.Summary.Assist.Count == 0 || r.Summary.Assist.Time < r.Summary.Assist.Longest {
		t.Errorf("assists %+v, want some", r.Summary.Assist)
	}
}
