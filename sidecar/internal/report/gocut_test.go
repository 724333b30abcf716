package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestCutGoTrace cuts traces anywhere. What was whole is reported, the rest
// named; where nothing was, there is an error.
func TestCutGoTrace(t *testing.T) {
	data := recorded(t)
	all, err := Read("whole", bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	cuts := []int{generationEnds(t, data)[0] + 1} // which leaves one whole, however short the next is
	for n := 0; n < len(data); n += 1 + len(data)/97 {
		cuts = append(cuts, n)
	}
	for _, n := range cuts {
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
		if last.Start != r.Source.End || last.End != 0 || !strings.Contains(last.Why, "byte ") {
			t.Errorf("cut to %d bytes: the last hole is %+v, want one from %d with a byte offset", n, last, r.Source.End)
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
	want := []*Collection{{Collection: gc.Collection{
		Fidelity: stall.Exact, Origin: stall.GoTrace, Trigger: gc.TriggerUnknown,
		Kind: gc.Background, Cycles: 1, End: gc.Known(stall.Instant(5_000_003_904)),
		Pauses: []gc.Pause{{Start: 5_000_000_704, End: 5_000_007_104, EndMax: 5_000_007_104, Slack: 64, Phase: gc.MarkTermination}},
	}}}
	d := r
	if diff := cmp.Diff(want, d.Collections, compareMaybe); diff != "" {
		t.Errorf("collections (-want +got):\n%s", diff)
	}
	if len(d.Incomplete) != 1 || !strings.Contains(d.Incomplete[0].Why, "began within this collection") {
		t.Errorf("incomplete: %+v, want that the trace began within the collection", d.Incomplete)
	}
}

// TestClockOfAGoTrace: a trace is placed on CLOCK_MONOTONIC only if all of it is.
func TestClockOfAGoTrace(t *testing.T) {
	const nanotime, other = "15625000", "1000000000"
	for name, c := range map[string]struct{ first, second, want string }{
		"nanotime":           {nanotime, nanotime, clockMonotonic},
		"another":            {other, other, clockFile},
		"another at its end": {nanotime, other, clockFile},
	} {
		t.Run(name, func(t *testing.T) {
			text := "Trace Go1.22\n"
			for i, frequency := range []string{c.first, c.second} {
				text += strings.NewReplacer("$gen", strconv.Itoa(i+1), "$frequency", frequency).Replace(`
					EventBatch gen=$gen m=18446744073709551615 time=0 size=auto
					Frequency freq=$frequency
					EventBatch gen=$gen m=42 time=1000 size=auto
					ProcStatus dt=1 p=0 pstatus=1
				`)
			}
			data, err := gotracetest.Assemble(text)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Read("a trace", bytes.NewReader(data), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Source.Clock != c.want {
				t.Errorf("got clock %s, want %s", r.Source.Clock, c.want)
			}
		})
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
		document := json.NewEncoder(io.Discard).Encode(r) // NaN cannot be written, nor infinity
		if err := errors.Join(document, r.Print(io.Discard), r.PrintHTML(io.Discard), r.PrintCSV(io.Discard), r.PrintPerfView(io.Discard)); err != nil {
			t.Fatal(err)
		}
	})
}
