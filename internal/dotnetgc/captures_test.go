package dotnetgc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall/gc"
)

// captures are the streams of internal/nettrace, by name.
const captures = "../nettrace/testdata"

// truth is what an independent decoder found in a capture.
type truth struct {
	GCs       []truthGC   `json:"gcs"`
	Stops     []truthStop `json:"stw"`
	Anomalies []string    `json:"anomalies"`
}

type truthGC struct {
	Number  uint64  `json:"number"`
	Gen     int     `json:"gen"`
	Reason  string  `json:"reason"`
	Type    string  `json:"type"`
	Start   int64   `json:"start"`
	End     int64   `json:"end"`
	Kind    string  `json:"kind"`
	Stops   []Marks `json:"stw"`
	Actual  bool    `json:"concurrent_actual"`
	PerHeap []struct {
		Gens []map[string]uint64 `json:"gens"`
	} `json:"per_heap"`
	Stats  map[string]uint64 `json:"heap_stats"`
	Global struct {
		Heaps      int      `json:"heaps"`
		Condemned  int      `json:"condemned"`
		Mechanisms []string `json:"mech"`
		PauseMode  int      `json:"pause_mode"`
		MemoryLoad int      `json:"mem_load"`
	} `json:"global"`
}

type Marks struct {
	Reason       string `json:"reason"`
	Begin        int64  `json:"begin"`
	Suspended    int64  `json:"suspended"`
	RestartBegin int64  `json:"restart_begin"`
	RestartEnd   int64  `json:"restart_end"`
}

type truthStop struct {
	Marks
	Thread uint64   `json:"tid"`
	GCs    []uint64 `json:"gcs"`
}

func readTruth(t *testing.T, name string) truth {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".gc.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v truth
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// captureNames returns the captures of which the truth is known.
func captureNames(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.gc.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for i, path := range names {
		names[i] = strings.TrimSuffix(filepath.Base(path), ".gc.json")
	}
	return names
}

// replay runs a stream through the model.
func replay(t testing.TB, stream []byte) (dotnetgc.Output, dotnetgc.Stats) {
	t.Helper()
	r, err := nettrace.NewReader(bytes.NewReader(stream), nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		t.Fatal(err)
	}
	m := dotnetgc.NewModel(r.Header(), dotnetgc.Options{})
	for {
		e, err := r.Next()
		if err != nil {
			if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			m.Close()
			return m.Take(), m.Stats()
		}
		m.Add(e)
	}
}

// TestCaptures holds the model to what an independent decoder found in streams
// of real processes: every collection and every stop, to the tick.
func TestCaptures(t *testing.T) {
	for _, name := range captureNames(t) {
		t.Run(name, func(t *testing.T) {
			want := readTruth(t, name)
			out, stats := replay(t, readCapture(t, name))
			if stats != (dotnetgc.Stats{}) || len(out.Incomplete) != 0 || len(want.Anomalies) != 0 {
				t.Errorf("anomalies: got %+v and %+v, want none", stats, out.Incomplete)
			}
			if diff := cmp.Diff(want.Stops, stopsOf(out.Stops)); diff != "" {
				t.Errorf("stops (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(collectionsOf(want), recordsOf(out.Collections)); diff != "" {
				t.Errorf("collections (-want +got):\n%s", diff)
			}
		})
	}
}

func stopsOf(list []dotnetgc.Stop) []truthStop {
	var out []truthStop
	for _, s := range list {
		out = append(out, truthStop{spanOf(s), s.Thread, s.Collections})
	}
	return out
}

func spanOf(s dotnetgc.Stop) Marks {
	return Marks{s.Reason.String(), int64(s.Begin), int64(s.Suspended), int64(s.RestartBegin), int64(s.RestartEnd)}
}

// row is a collection in the terms that both sides can be put in.
type row struct {
	Index                   uint64
	Generation, Heaps       int
	Trigger, Type, Kind     string
	Start, End              int64
	Concurrent, Compacting  bool
	MemoryLoad, PauseMode   int
	Stops                   []Marks
	Before, After, Free     uint64
	FreeAfter, Promoted     uint64
	Pinned, Finalizable     uint64
	SizesBefore, SizesAfter []uint64
	FreesBefore, FreesAfter []uint64
	Survived, Budgets       []uint64
	Incomplete              string
}

func recordsOf(list []dotnetgc.Collection) map[uint64]row {
	out := make(map[uint64]row)
	for i := range list {
		c := &list[i]
		known := func(m gc.Maybe[gc.Bytes]) uint64 { return uint64(m.Or(1 << 62)) }
		r := row{
			Index: c.Index, Generation: c.Generation.Or(-1), Heaps: c.Heaps,
			Trigger: string(c.Trigger), Type: c.Type.String(), Kind: c.Kind.String(),
			Start: int64(c.Start.Or(-1)), End: int64(c.End.Or(-1)),
			Concurrent: c.Concurrent.Or(false), Compacting: c.Compacting.Or(false),
			MemoryLoad: int(c.MemoryLoad.Or(0)*100 + 0.5), PauseMode: int(c.PauseMode.Or(99)),
			Before: known(c.HeapBefore), After: known(c.HeapAfter),
			Free: known(c.FragmentationBefore), FreeAfter: known(c.FragmentationAfter), Promoted: known(c.Promoted),
			Pinned: c.Pinned.Or(1 << 62), Finalizable: c.Finalizable.Or(1 << 62), Incomplete: c.Incomplete,
		}
		for _, s := range c.Stops {
			r.Stops = append(r.Stops, spanOf(s))
		}
		for _, g := range c.Generations {
			r.SizesBefore = append(r.SizesBefore, known(g.SizeBefore))
			r.SizesAfter = append(r.SizesAfter, known(g.SizeAfter))
			r.FreesBefore = append(r.FreesBefore, known(g.FragmentationBefore))
			r.FreesAfter = append(r.FreesAfter, known(g.FragmentationAfter))
			r.Budgets = append(r.Budgets, known(g.Budget))
			r.Survived = append(r.Survived, uint64(g.Survived.Or(0)))
		}
		out[c.Index] = r
	}
	return out
}

func collectionsOf(v truth) map[uint64]row {
	out := make(map[uint64]row)
	for _, g := range v.GCs {
		r := row{
			Index: g.Number, Generation: g.Global.Condemned, Heaps: g.Global.Heaps,
			Trigger: g.Reason, Type: g.Type, Kind: kindOf(g.Kind), Start: g.Start, End: g.End,
			Concurrent: g.Actual, MemoryLoad: g.Global.MemoryLoad, PauseMode: g.Global.PauseMode, Stops: g.Stops,
			Pinned: g.Stats["pinned"], Finalizable: g.Stats["fin_count"],
		}
		for _, m := range g.Global.Mechanisms {
			r.Compacting = r.Compacting || m == "compaction"
		}
		for _, name := range []string{"gen0", "gen1", "gen2", "loh", "poh"} {
			r.After += g.Stats[name]
			r.Promoted += g.Stats[strings.Replace("prom"+name, "gen", "", 1)]
		}
		for gen := range g.PerHeap[0].Gens {
			var sum [6]uint64
			for _, heap := range g.PerHeap {
				d := heap.Gens[gen]
				sum[0] += d["size_before"]
				sum[1] += d["size_after"]
				sum[2] += d["free_list_before"] + d["free_obj_before"]
				sum[3] += d["free_list_after"] + d["free_obj_after"]
				sum[4] += d["new_alloc"]
				sum[5] += d["pinned_surv"] + d["npinned_surv"]
			}
			r.Before += sum[0]
			r.Free += sum[2]
			r.FreeAfter += sum[3]
			r.SizesBefore = append(r.SizesBefore, sum[0])
			r.SizesAfter = append(r.SizesAfter, sum[1])
			r.FreesBefore = append(r.FreesBefore, sum[2])
			r.FreesAfter = append(r.FreesAfter, sum[3])
			r.Budgets = append(r.Budgets, sum[4])
			r.Survived = append(r.Survived, sum[5])
		}
		out[g.Number] = r
	}
	return out
}

func kindOf(s string) string {
	switch {
	case strings.HasPrefix(s, "FullBlocking"):
		return gc.FullBlocking.String()
	case s == "Background":
		return gc.Background.String()
	}
	return gc.Ephemeral.String()
}
