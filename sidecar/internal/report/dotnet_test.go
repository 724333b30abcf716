package report

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gcjson"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	dotnetFiles = "../../../internal/nettrace/testdata" // streams of real processes
	dotnetTruth = "../../../internal/dotnetgc/testdata" // what an independent decoder rebuilt of them
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

// readJSON returns the document of a file as a user gets it.
func readJSON(t *testing.T, path string) (d Document) {
	t.Helper()
	r, err := ReadFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.Document())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCaptures holds the document of every capture to what an independent
// decoder made of it, to the nanosecond and the byte.
func TestCaptures(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dotnetTruth, "*.gc.json"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d captures in %s (%v), want 8 or more", len(files), dotnetTruth, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gc.json")
		t.Run(name, func(t *testing.T) {
			want, got := readTruth(t, file), readJSON(t, filepath.Join(dotnetFiles, name+".nettrace"))
			if diff := cmp.Diff(want.collections(), got.Collections, compareMaybe, ignoreDerived); diff != "" {
				t.Errorf("collections (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.suspensions(), got.Suspensions); diff != "" {
				t.Errorf("suspensions (-want +got):\n%s", diff)
			}
			if s := got.Source; s.Start != want.Trace.SyncQPC || s.PID != want.Trace.PID || s.CPUs != want.Trace.NProc || s.Clock != clockMonotonic {
				t.Errorf("source %+v does not fit %+v", s, want.Trace)
			}
			if cut := name == "target_sigkill" || name == "server_nonconc"; (len(got.Incomplete) > 0) != cut {
				t.Errorf("incomplete: %+v, want it only where the target was killed", got.Incomplete)
			}
		})
	}
}

// ignoreDerived leaves out what is computed from other records.
var ignoreDerived = cmp.FilterPath(func(p cmp.Path) bool {
	switch p.Last().String() {
	case ".Utilization", ".UtilizationSince", ".Allocated", ".TimeInGC":
		return true
	}
	return false
}, cmp.Ignore())

func (want *truth) collections() []DocCollection {
	list := make([]DocCollection, 0, len(want.GCs))
	for i := range want.GCs {
		list = append(list, DocCollection{Collection: want.collection(i)})
	}
	return list
}

func (want *truth) collection(i int) gcjson.Collection {
	g := &want.GCs[i]
	has := func(mechanism string) gc.Maybe[bool] {
		for _, m := range g.Global.Mech {
			if m == mechanism {
				return gc.Known(true)
			}
		}
		return gc.Known(false)
	}
	c := gcjson.Collection{
		Index: g.Number, Cycles: 1, Generation: gc.Known(g.Gen), Trigger: gc.Trigger(g.Reason),
		Start: gc.Known(g.Start), End: gc.Known(g.End), Pauses: want.pauses(g.Number),
		Compacting: has("compaction"), Concurrent: has("concurrent"),
		Pinned: gc.Known(g.HeapStats["pinned"]), Finalizable: gc.Known(g.HeapStats["fin_count"]),
	}
	if g.Global.MemLoad > 0 { // no machine has none in use: the field was not filled in
		c.MemoryLoad = gc.Known(g.Global.MemLoad / 100)
	}
	switch {
	case g.Gen < 2:
		c.Kind = "ephemeral"
	case strings.HasPrefix(g.Kind, "FullBlocking"):
		c.Kind = "full_blocking"
	default:
		c.Kind = "background"
	}
	var before, after, fragBefore, fragAfter, promoted gc.Bytes
	for id, name := range []string{"gen0", "gen1", "gen2", "loh", "poh"} {
		var b, a, fb, fa, survived, budget gc.Bytes
		for _, h := range g.PerHeap {
			d := h.Gens[id]
			b, a, fb, fa = b+d.Before, a+d.After, fb+d.ListBefore+d.ObjBefore, fa+d.ListAfter+d.ObjAfter
			survived, budget = survived+d.Pinned+d.Moved, budget+d.Budget
		}
		part := gcjson.Generation{
			Gen: name, SizeBefore: gc.Known(b), SizeAfter: gc.Known(a), FragBefore: gc.Known(fb), FragAfter: gc.Known(fa), Budget: gc.Known(budget),
		}
		p := gc.Bytes(g.HeapStats["prom"+strings.TrimPrefix(name, "gen")])
		if old := id >= 2; id <= g.Gen && (old || c.Kind != "background") || old && g.Gen == 2 {
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
	c.FragBefore, c.FragAfter = gc.Known(fragBefore), gc.Known(fragAfter)
	return c
}

// pauses returns the stops that are charged to a collection: one that holds two
// is the ephemeral one's.
func (want *truth) pauses(number uint64) []gcjson.Pause {
	list := []gcjson.Pause{}
	for _, s := range want.STW {
		if isGC(s.Reason) && len(s.GCs) > 0 && s.GCs[len(s.GCs)-1] == number {
			list = append(list, gcjson.Pause{
				Start: s.Begin, End: s.RestartBegin, EndMax: s.RestartEnd, Suspend: gc.Known(s.Suspended.Sub(s.Begin)), Phase: "unknown",
			})
		}
	}
	return list
}

func isGC(reason string) bool { return reason == "ForGC" || reason == "ForGCPrep" }

// suspensions are the stops that are of no collection: one that server GC makes
// to change its number of heaps is among them.
func (want *truth) suspensions() []DocSuspension {
	list := []DocSuspension{}
	for _, s := range want.STW {
		if !isGC(s.Reason) || len(s.GCs) == 0 {
			list = append(list, DocSuspension{Start: s.Begin, End: s.RestartBegin, Reason: s.Reason})
		}
	}
	return list
}

// TestTimeInGCOfEach says it of every collection but the first: that of the sum is the
// last one's.
func TestTimeInGCOfEach(t *testing.T) {
	d := readJSON(t, filepath.Join(dotnetFiles, "nonconc.nettrace"))
	last := stall.Instant(0)
	for i, c := range d.Collections {
		p := c.Pauses[0]
		want := gc.Maybe[float64]{}
		if i > 0 {
			want = gc.Known(float64(p.End.Sub(p.Start)-p.Suspend.Or(0)) / float64(p.End.Sub(last)))
		}
		if c.TimeInGC != want {
			t.Errorf("collection %d: %v, want %v", c.Index, c.TimeInGC, want)
		}
		last = p.End
	}
	if got := d.Collections[len(d.Collections)-1].TimeInGC; got != d.Summary.TimeInGC || got.IsZero() {
		t.Errorf("of the last %v, in the summary %v", got, d.Summary.TimeInGC)
	}
}

// TestAllocations sums up the sample of a verbose file, and of no other.
func TestAllocations(t *testing.T) {
	path := filepath.Join(dotnetFiles, "level5.nettrace")
	a := readJSON(t, path).Allocations
	if a == nil || !a.Sampled || a.Samples != 396 || len(a.Threads) != 3 {
		t.Fatalf("got %+v, want 396 events of 3 threads", a)
	}
	sum := uint64(0)
	for i := range a.Threads {
		sum += a.Threads[i].bytes()
	}
	if sum != a.Bytes || a.Threads[0].Thread != 24521 {
		t.Errorf("%d bytes, the threads have %d: %+v", a.Bytes, sum, a.Threads)
	}
	r, err := ReadFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	if want := "WHO ALLOCATED             sampled: "; !strings.Contains(text.String(), want) {
		t.Errorf("no %q in:\n%s", want, text.String())
	}
	if a := readJSON(t, filepath.Join(dotnetFiles, "loh.nettrace")).Allocations; a != nil {
		t.Errorf("of a file that does not say: %+v", a)
	}
}

func TestDotnetGolden(t *testing.T) {
	for _, name := range []string{"loh", "gen0_256k", "default_forced", "target_sigkill", "perfview-5.0-arraytypes"} {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, filepath.Join(dotnetFiles, name+".nettrace"), name)
		})
	}
}

// TestWindowsTicks gives a capture the clock of a Windows machine: every time is
// scaled, exactly, and every size the same.
func TestWindowsTicks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(dotnetFiles, "loh.nettrace"))
	if err != nil {
		t.Fatal(err)
	}
	const hz = 3_124_099 // a real machine's
	linux, err := Read("linux", bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, binary.LittleEndian.AppendUint64(nil, 1e9))
	binary.LittleEndian.PutUint64(data[at:], hz)
	windows, err := Read("windows", bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := windows.Source; s.Tick != hz || s.Clock != clockFile {
		t.Errorf("clock %q of %d Hz, want the file's own of %d", s.Clock, s.Tick, hz)
	}
	scale := func(ticks stall.Instant) stall.Instant {
		whole, rest := ticks/hz, ticks%hz
		return whole*1e9 + rest*1e9/hz
	}
	if got, want := windows.Start, scale(linux.Start); got != want {
		t.Errorf("the file starts at %d, want %d", got, want)
	}
	for i := range linux.Collections {
		want, got := linux.Collections[i].Collection, windows.Collections[i].Collection
		for k, p := range want.Pauses {
			g := got.Pauses[k]
			if g.Start != scale(p.Start) || g.End != scale(p.End) || g.EndMax != scale(p.EndMax) {
				t.Errorf("GC %d: pause %+v, want %+v scaled", got.Index, g, p)
			}
		}
		if got.HeapAfter != want.HeapAfter || got.Kind != want.Kind {
			t.Errorf("GC %d: kind %v, heap after %v, want %v, %v", got.Index, got.Kind, got.HeapAfter, want.Kind, want.HeapAfter)
		}
	}
}

// TestCutDotnet cuts a capture anywhere.
func TestCutDotnet(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(dotnetFiles, "collect5.nettrace"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Read("whole", bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole := map[uint64]gc.Collection{}
	for _, c := range all.Collections {
		whole[c.Index] = c.Collection
	}
	for n := 0; n < len(data); n += 7 { // a prime: every kind of place is met
		r, err := Read("cut", bytes.NewReader(data[:n]), Options{})
		if (r == nil) == (err == nil) {
			t.Fatalf("cut to %d of %d bytes: report %v, error %v, want one of them", n, len(data), r != nil, err)
		}
		if r == nil {
			continue
		}
		if len(r.Incomplete) == 0 {
			t.Fatalf("cut to %d of %d bytes: nothing is said to be missing", n, len(data))
		}
		for _, c := range r.Collections {
			if c.Incomplete != "" {
				continue
			}
			if diff := cmp.Diff(whole[c.Index], c.Collection, compareMaybe); diff != "" {
				t.Fatalf("cut to %d bytes: GC %d is called whole (-want +got):\n%s", n, c.Index, diff)
			}
		}
	}
}

// TestTimeInGC computes the share by hand from what the independent decoder
// says: (TB(n) - TA(n)) / (TB(n) - TB(n-1)).
func TestTimeInGC(t *testing.T) {
	want := readTruth(t, filepath.Join(dotnetTruth, "default.gc.json"))
	r, err := ReadFile(filepath.Join(dotnetFiles, "default.nettrace"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := r.TimeInGC()
	if len(got) != len(want.STW)-1 {
		t.Fatalf("%d shares of %d stops, want one less", len(got), len(want.STW))
	}
	for i, share := range got {
		before, s := want.STW[i], want.STW[i+1]
		w := float64(s.RestartBegin-s.Suspended) / float64(s.RestartBegin-before.RestartBegin)
		if share.Number != i+2 || share.Share != w {
			t.Errorf("collection %d: %v, want collection %d: %v", share.Number, share.Share, i+2, w)
		}
	}
	var suspended time.Duration
	for _, s := range want.STW {
		suspended += s.Suspended.Sub(s.Begin)
	}
	if got := r.Suspended(); got != gc.Known(suspended) {
		t.Errorf("time to suspend %v, want %v", got, suspended)
	}
}
