package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

var compareMaybe = cmp.Exporter(func(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Maybe[") })

func TestMain(m *testing.M) { noleak.Main(m) }

// by is a preemption.
func by(name string, tid int32) jitterprobe.Evidence {
	return jitterprobe.Evidence{Witness: jitterprobe.SwitchRecord, Time: 20, Count: 1, TID: tid, Name: name, Moved: tid == 7}
}

// sample is one of each record.
func sample() []Record {
	return []Record{
		Environment{Recorder: "sidecar v1", BootID: "b", Started: time.Unix(7, 5).UTC(), At: 100, Machine: "m", OS: "o", Workload: "w"},
		Probe{ID: 2, Mode: "periodic", CPU: -1, Floor: 1000, Target: 1, Note: "n", At: 101},
		Target{ID: 1, PID: 42, Name: "x", Runtime: "go", Facts: map[string]string{"GOGC": "100"}, At: 101},
		Gaps{Probe: 2, List: []jitterprobe.Gap{
			{Interval: stall.Interval{Start: 200, End: 300, Cause: stall.HostUnknown, Scope: stall.ScopeCPU, CPU: 3}},
			{Interval: stall.Interval{Start: 150, End: 150, Cause: stall.RuntimeUnknown, Scope: stall.ScopeProcess, CPU: -1}, Evidence: jitterprobe.Evidence{Witness: jitterprobe.RuntimeDoor}},
			{Interval: stall.Interval{Start: 310, End: 360, Cause: stall.HostPreempted, CPU: 3}, Evidence: by("kworker/1:0", 321)},
			{Interval: stall.Interval{Start: 400, End: 420, Cause: stall.HostPreempted, CPU: 3}, Evidence: by("sshd", 7)},
			{Interval: stall.Interval{Start: 450, End: 470, Cause: stall.HostPreempted, CPU: 3}, Evidence: by("kworker/1:0", 321)},
			{Interval: stall.Interval{Start: 500, End: 900, Cause: stall.HostIRQ, CPU: 3}, Evidence: jitterprobe.Evidence{Witness: jitterprobe.Tracepoint, Time: 390, Count: 2, Name: "local_timer"}},
		}},
		Gaps{Probe: 1, List: []jitterprobe.Gap{{Interval: stall.Interval{Start: 1000, End: 2000, Cause: stall.HostSteal, Scope: stall.ScopeMachine, CPU: -1}}}},
		Collection{1, gc.Collection{
			Index: 9, Cycles: 1, Kind: gc.Ephemeral, Trigger: "AllocSmall", Start: gc.Known(stall.Instant(210)),
			Pauses: []gc.Pause{{Start: 210, End: 220, EndMax: 225, Suspend: gc.Known(3 * time.Nanosecond)}}, Promoted: gc.Known(gc.Bytes(0)),
		}},
		Suspension{Target: 1, Span: stall.Span{Start: 400, End: 500}, Reason: "Other", Caller: "f"},
		Status{Source: "probe.spin", Probe: 2, At: 600, Watermark: 590, Dropped: 2, DroppedTime: 30, Unrecorded: 1},
		Host{PID: 42, Followed: true, At: 610, Totals: hostcount.Totals{RunDelay: 9, Paged: 3, MajorFaults: 2, GroupPressure: gc.Known(hostcount.Pressure{CPU: 5})}},
		Doctor{json.RawMessage(`{"schema":"otelgc.doctor/1"}`)},
		End{700},
	}
}

// written returns the bytes of a recording.
func written(t testing.TB, records []Record) []byte {
	t.Helper()
	b := []byte(Magic)
	for _, r := range records {
		body, err := encode(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		b = appendFrame(b, r.kind(), body)
	}
	return b
}

func readAll(t testing.TB, data []byte) (list []Record, err error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for {
		record, err := r.Next()
		if err != nil {
			return list, err
		}
		list = append(list, record)
	}
}

func TestThrough(t *testing.T) {
	got, err := readAll(t, written(t, sample()))
	if err != io.EOF {
		t.Errorf("the end is %v, want io.EOF", err)
	}
	if diff := cmp.Diff(sample(), got, compareMaybe); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.rec")
	records := sample()
	w, err := Create(path, records[0].(Environment))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, Environment{}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "name another") {
		t.Errorf("a second recording in one file: %v", err)
	}
	var wg sync.WaitGroup
	const n = 40_000 // more than one record of gaps
	wg.Go(func() {
		for i := range n {
			w.Gap(i%3, jitterprobe.Gap{
				Interval: stall.Interval{Start: stall.Instant(i) * 10, End: stall.Instant(i)*10 + 1 + stall.Instant(rand.IntN(5)),
					Cause: stall.HostPreempted, Scope: stall.ScopeCPU}, Evidence: by("kworker/1:0", 321),
			})
		}
	})
	wg.Go(func() {
		for _, r := range records[1:3] {
			w.Add(r)
		}
	})
	wg.Wait()
	w.Add(End{1})
	if err := errors.Join(w.Close(), w.Close()); err != nil || w.Dropped() != 0 {
		t.Fatalf("close: %v, %d dropped", err, w.Dropped())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, data)
	if err != io.EOF {
		t.Fatalf("the end is %v, want io.EOF", err)
	}
	gaps, others := 0, 0
	of := [3]int{}
	for _, r := range got {
		if g, ok := r.(Gaps); ok {
			gaps += len(g.List)
			for _, v := range g.List {
				if want := stall.Instant(10 * (3*of[g.Probe] + g.Probe)); v.Start != want {
					t.Fatalf("gap %d of probe %d: starts at %d, want %d", of[g.Probe], g.Probe, v.Start, want)
				}
				of[g.Probe]++
			}
		} else {
			others++
		}
	}
	if gaps != n || others != 4 {
		t.Errorf("%d gaps and %d other records, want %d and 4", gaps, others, n)
	}
	if perGap := float64(len(data)) / n; perGap > 12 {
		t.Errorf("%.1f bytes per gap, want 12 or less", perGap)
	}
}
