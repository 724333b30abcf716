package report

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// truth is a .gc.json: times are ticks, here nanoseconds.
type truth struct {
	Trace struct {
		SyncQPC stall.Instant `json:"sync_qpc"`
		PID     int
		NProc   int
	}
	GCs []struct {
		Number     uint64
		Gen        int
		Reason     string
		Kind       string
		Start, End stall.Instant
		Global     struct {
			Mech    []string
			MemLoad float64 `json:"mem_load"`
		}
		PerHeap []struct {
			Gens []struct {
				Before     gc.Bytes `json:"size_before"`
				ListBefore gc.Bytes `json:"free_list_before"`
				ObjBefore  gc.Bytes `json:"free_obj_before"`
				After      gc.Bytes `json:"size_after"`
				ListAfter  gc.Bytes `json:"free_list_after"`
				ObjAfter   gc.Bytes `json:"free_obj_after"`
				Pinned     gc.Bytes `json:"pinned_surv"`
				Moved      gc.Bytes `json:"npinned_surv"`
				Budget     gc.Bytes `json:"new_alloc"`
			}
		} `json:"per_heap"`
		HeapStats map[string]uint64 `json:"heap_stats"`
	}
	STW []struct {
		Begin        stall.Instant
		Suspended    stall.Instant
		RestartBegin stall.Instant `json:"restart_begin"`
		RestartEnd   stall.Instant `json:"restart_end"`
		Reason       string
		GCs          []uint64
	}
}

func readTruth(t *testing.T, path string) (want truth) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

// ignoreDerived leaves out what is computed from other records.
var ignoreDerived = cmp.FilterPath(func(p cmp.Path) bool {
	switch p.Last().String() {
	case ".PauseUtilization", ".UtilizationSince", ".Allocated", ".TimeInGC":
		return true
	}
	return false
}, cmp.Ignore())

func (want *truth) collections() []*Collection {
	list := make([]*Collection, 0, len(want.GCs))
	for i := range want.GCs {
		list = append(list, &Collection{Collection: want.collection(i)})
	}
	return list
}

func (want *truth) collection(i int) gc.Collection {
	g := &want.GCs[i]
	has := func(mechanism string) gc.Maybe[bool] {
		for _, m := range g.Global.Mech {
			if m == mechanism {
				return gc.Known(true)
			}
		}
		return gc.Known(false)
	}
	c := gc.Collection{
		Fidelity: stall.Exact,
		Index:    g.Number, Cycles: 1, Generation: gc.Known(g.Gen), Trigger: gc.Trigger(g.Reason),
		Start: gc.Known(g.Start), End: gc.Known(g.End), Pauses: want.pauses(g.Number),
		Compacting: has("compaction"), Concurrent: has("concurrent"),
		Pinned: gc.Known(g.HeapStats["pinned"]), Finalizable: gc.Known(g.HeapStats["fin_count"]),
	}
	if g.Global.MemLoad > 0 { // no machine has none in use: the field was not filled in
		c.MemoryLoad = gc.Known(g.Global.MemLoad / 100)
	}
	switch {
	case g.Gen < 2:
		c.Kind = gc.Ephemeral
	case strings.HasPrefix(g.Kind, "FullBlocking"):
		c.Kind = gc.FullBlocking
	default:
		c.Kind = gc.Background
	}
	var before, after, fragBefore, fragAfter, promoted gc.Bytes
	for id, name := range []string{"gen0", "gen1", "gen2", "loh", "poh"} {
		var b, a, fb, fa, survived, budget gc.Bytes
		for _, h := range g.PerHeap {
			d := h.Gens[id]
			b, a, fb, fa = b+d.Before, a+d.After, fb+d.ListBefore+d.ObjBefore, fa+d.ListAfter+d.ObjAfter
			survived, budget = survived+d.Pinned+d.Moved, budget+d.Budget
		}
		part := gc.Generation{
			ID: gc.GenerationID(id), SizeBefore: gc.Known(b), SizeAfter: gc.Known(a), FragmentationBefore: gc.Known(fb), FragmentationAfter: gc.Known(fa), Budget: gc.Known(budget),
		}
		p := gc.Bytes(g.HeapStats["prom"+strings.TrimPrefix(name, "gen")])
		if old := id >= 2; id <= g.Gen && (old || c.Kind != gc.Background) || old && g.Gen == 2 {
			part.Survived = gc.Known(survived)
			if name != "poh" || p > 0 || survived == 0 { // .NET 10 leaves it zero, whatever survived
				part.Promoted = gc.Known(p)
			}
		}
		c.Generations = append(c.Generations, part)
		before, fragBefore, fragAfter, promoted = before+b, fragBefore+fb, fragAfter+fa, promoted+p
		after += gc.Bytes(g.HeapStats[name])
	}
	c.HeapBefore, c.HeapAfter, c.Promoted = gc.Known(before), gc.Known(after), gc.Known(promoted)
	c.FragmentationBefore, c.FragmentationAfter = gc.Known(fragBefore), gc.Known(fragAfter)
	return c
}

// pauses returns the stops that are charged to a collection: one that holds two
// is the ephemeral one's.
func (want *truth) pauses(number uint64) []gc.Pause {
	list := []gc.Pause{}
	for _, s := range want.STW {
		if isGC(s.Reason) && len(s.GCs) > 0 && s.GCs[len(s.GCs)-1] == number {
			list = append(list, gc.Pause{
				Start: s.Begin, End: s.RestartBegin, EndMax: s.RestartEnd, Suspend: gc.Known(s.Suspended.Sub(s.Begin)),
			})
		}
	}
	return list
}

func isGC(reason string) bool { return reason == "ForGC" || reason == "ForGCPrep" }

// suspensions are the stops that are of no collection: one that server GC makes
// to change its number of heaps is among them.
func (want *truth) suspensions() []recording.Suspension {
	list := []recording.Suspension{}
	for _, s := range want.STW {
		if !isGC(s.Reason) || len(s.GCs) == 0 {
			list = append(list, recording.Suspension{Span: stall.Span{Start: s.Begin, End: s.RestartBegin}, EndMax: s.RestartEnd, Reason: s.Reason})
		}
	}
	return list
}
