package dotnetgc_test

import (
	"archive/zip"
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
)

func readZip(t testing.TB, path string) []byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWindows reads a stream of .NET Core 3.0 on Windows, where a profiler that
// samples all stacks and the collector get in each other's way. The counts of
// events are those of the fixture's own baseline; nothing is left over.
func TestWindows(t *testing.T) {
	stream := readZip(t, filepath.Join(captures, "perfview-3.0-objver4.nettrace.zip"))
	r, err := nettrace.NewReader(bytes.NewReader(stream), nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Header().Frequency; f != 3124099 {
		t.Errorf("frequency: got %d", f)
	}
	events := make(map[int]int)
	for err == nil {
		var e *nettrace.Event
		if e, err = r.Next(); err == nil {
			events[e.ID]++
		}
	}
	// GC/Start, GC/Stop, GC/RestartEEStop, GC/HeapStats, GC/RestartEEStart,
	// GC/SuspendEEStop, GC/SuspendEEStart,
	// GC/PerHeapHistory, GC/GlobalHeapHistory.
	want := map[int]int{1: 478, 2: 478, 3: 6002, 4: 478, 7: 6002, 8: 5953, 9: 5953, 204: 478, 205: 478}
	if diff := cmp.Diff(want, events); diff != "" || err != io.EOF || r.Stats().Lost != 0 {
		t.Errorf("%v, %+v (-want +got):\n%s", err, r.Stats(), diff)
	}
	out, stats := replay(t, stream)
	clean(t, out, stats)
	backOffs, reasons := 0, make(map[string]int)
	for _, s := range out.Stops {
		backOffs += s.BackOffs
		reasons[s.Reason.String()]++
	}
	if diff := cmp.Diff(map[string]int{"ForGC": 478, "Other": 5475}, reasons); diff != "" || backOffs != 6002-5953 {
		t.Errorf("%d back-offs, stops (-want +got):\n%s", backOffs, diff)
	}
	for i, c := range out.Collections {
		if c.Index != uint64(i+1) || c.Incomplete != "" || len(c.Generations) != 4 || len(c.Pauses) != 1 {
			t.Fatalf("collection %d: got %+v", i+1, c)
		}
	}
	if len(out.Collections) != 478 {
		t.Errorf("got %d collections, want 478", len(out.Collections))
	}
	checkOutput(t, out)
}
