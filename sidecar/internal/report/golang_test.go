package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gcjson"
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
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

// recorded returns a trace of this process of two generations or more.
func recorded(t *testing.T) []byte {
	t.Helper()
	shared.Do(func() {
		before := forcedCycles()
		shared.data = gotracetest.Record(t, 2200*time.Millisecond)
		shared.forced = int(forcedCycles() - before)
	})
	if shared.data == nil {
		t.Skip("skipped: nothing could be recorded")
	}
	return shared.data
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
				gcStops = append(gcStops, s.Span)
			} else {
				others = append(others, s.Span)
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
		c := &r.Collections[i]
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
	if !slices.ContainsFunc(r.Suspensions, func(s Suspension) bool {
		return s.Reason == "read mem stats" && strings.HasPrefix(s.Caller, "runtime.ReadMemStats < ")
	}) {
		t.Errorf("no stop by runtime.ReadMemStats among %v", r.Reasons())
	}
	if r.Work.Assist.Count == 0 || r.Work.Assist.Time < r.Work.Assist.Longest {
		t.Errorf("assists %+v, want some", r.Work.Assist)
	}
}

// TestCutGoTrace cuts traces anywhere. What was whole is reported, the rest
// named; where nothing was, there is an error.
func TestCutGoTrace(t *testing.T) {
	data := recorded(t)
	all, err := Read("whole", bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	for n := 0; n < len(data); n += 1 + len(data)/97 {
		r, err := Read("cut", bytes.NewReader(data[:n]), Options{})
		if (r == nil) == (err == nil) {
			t.Fatalf("cut to %d of %d bytes: report %v, error %v, want one of them", n, len(data), r != nil, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "cut: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("cut to %d bytes: error %q, want one line that names the file", n, err)
			}
			continue
		}
		reported++
		if len(r.Incomplete) == 0 {
			t.Fatalf("cut to %d of %d bytes: nothing is said to be missing", n, len(data))
		}
		last := r.Incomplete[len(r.Incomplete)-1]
		if last.Start != r.End || last.End != 0 || !strings.Contains(last.Why, "byte ") {
			t.Errorf("cut to %d bytes: the last hole is %+v, want one from %d with a byte offset", n, last, r.End)
		}
		for i := range len(r.Collections) - 1 { // the last one may be cut, too
			if diff := cmp.Diff(all.Collections[i].Pauses, r.Collections[i].Pauses, compareMaybe); diff != "" {
				t.Fatalf("cut to %d bytes: pauses of collection %d (-whole +cut):\n%s", n, i, diff)
			}
		}
	}
	if reported == 0 {
		t.Error("no cut left a generation whole: the test sees nothing")
	}
}

// TestDamagedGoTrace breaks a trace behind its first generation: what was whole
// is reported, and the damage is an error.
func TestDamagedGoTrace(t *testing.T) {
	data := bytes.Clone(recorded(t))
	stream, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Next(); err != nil {
		t.Fatal(err)
	}
	data[stream.Offset()] = 0xff // the type of the next batch
	r, err := Read("damaged", bytes.NewReader(data), Options{})
	if r == nil || !errors.As(err, new(*Damaged)) || !errors.Is(err, gotrace.ErrFormat) {
		t.Fatalf("report %v, error %v, want both, and the error a *Damaged", r != nil, err)
	}
	if len(r.Incomplete) == 0 || len(r.Collections) == 0 {
		t.Errorf("%d collections, incomplete %v, want some of both", len(r.Collections), r.Incomplete)
	}
}

// TestGoTraceBeginsWithinACollection holds to it that a collection whose begin
// the trace does not show is named as such.
func TestGoTraceBeginsWithinACollection(t *testing.T) {
	data, err := gotracetest.Assemble(`
		Trace Go1.26
		EventBatch gen=1 m=18446744073709551615 time=0 size=auto
		Sync
		Frequency freq=15625000
		ClockSnapshot dt=0 mono=5000000000 sec=0 nsec=0
		EventBatch gen=1 m=42 time=0 size=auto
		ProcStatus dt=1 p=0 pstatus=1
		GoStatus dt=1 g=1 m=42 gstatus=2
		GCActive dt=1 gc_seq=1
		STWBegin dt=8 kind_string=1 stack=0
		GCEnd dt=50 gc_seq=2
		STWEnd dt=50
		EventBatch gen=1 m=18446744073709551615 time=0 size=auto
		Strings
		String id=1
		data="GC mark termination"
		EndOfGeneration`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read("attached", bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []DocCollection{{Collection: gcjson.Collection{
		Kind: "background", Cycles: 1, End: gc.Known(stall.Instant(5_000_003_904)),
		Pauses: []gcjson.Pause{{Start: 5_000_000_704, End: 5_000_007_104, EndMax: 5_000_007_104, Slack: 64, Phase: "mark_termination"}},
	}}}
	d := r.Document()
	if diff := cmp.Diff(want, d.Collections, compareMaybe); diff != "" {
		t.Errorf("collections (-want +got):\n%s", diff)
	}
	if len(d.Incomplete) != 1 || !strings.Contains(d.Incomplete[0].Why, "began within this collection") {
		t.Errorf("incomplete: %+v, want that the trace began within the collection", d.Incomplete)
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range gotracetest.Captures(f, goTestdata) {
		f.Add(c.Bytes[:min(len(c.Bytes), 20_000)])
	}
	f.Add([]byte("Nettrace\x14\x00\x00\x00!FastSerialization.1"))
	f.Add([]byte("go 1.26 trace\x00\x00\x00"))
	paths := []string{filepath.Join(dotnetFiles, "collect5.nettrace"), write(f, experiment(3)), write(f, slowedWithoutPauses()), write(f, escapes())}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read("fuzzed", bytes.NewReader(data), Options{Warmup: warmup})
		switch {
		case r == nil && err == nil:
			t.Fatal("neither a report nor an error")
		case r != nil && err != nil && !errors.As(err, new(*Damaged)):
			t.Fatalf("a report and an error that is not a *Damaged: %v", err)
		}
		if r == nil {
			return
		}
		if err := errors.Join(r.Print(io.Discard), r.PrintCSV(io.Discard), r.PrintPerfView(io.Discard)); err != nil {
			t.Fatal(err)
		}
		if got := r.Document().Schema; got != Schema {
			t.Fatalf("schema %q", got)
		}
	})
}
