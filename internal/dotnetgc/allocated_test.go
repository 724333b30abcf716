package dotnetgc_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func readCapture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name+".nettrace"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAllocated holds what was allocated between collections to the sum of the
// runtime's own AllocationTick events, which come about every 100 kB.
func TestAllocated(t *testing.T) {
	stream := readCapture(t, "level5")
	r, err := nettrace.NewReader(bytes.NewReader(stream), nettrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	allocated := make(map[stall.Instant]uint64)
	for err == nil {
		var e *nettrace.Event
		if e, err = r.Next(); err == nil && e.Provider == dotnetgc.Provider && e.ID == idAllocationTick {
			allocated[stall.Instant(e.Ticks)] += binary.LittleEndian.Uint64(e.Payload[10:])
		}
	}
	if err != io.EOF || len(allocated) == 0 {
		t.Fatalf("%d ticks, %v", len(allocated), err)
	}
	out, _ := replay(t, stream)
	var last stall.Instant
	for _, c := range out.Collections {
		sum := uint64(0)
		for at, n := range allocated {
			if at > last && at <= c.Start.Or(0) {
				sum += n
			}
		}
		last = c.End.Or(0)
		if got := uint64(c.Allocated.Or(0)); got < sum*95/100 || got > sum*105/100 {
			t.Errorf("collection %d: %d bytes allocated, by the ticks %d", c.Index, got, sum)
		}
	}
}

// TestAllocatedOnce counts what was allocated before a background collection
// with the ephemeral one in its first stop, and not again with itself.
func TestAllocatedOnce(t *testing.T) {
	out, _ := replay(t, readCapture(t, "loh"))
	unknown := []uint64{}
	for _, c := range out.Collections {
		if c.Allocated.IsZero() {
			unknown = append(unknown, c.Index)
		}
	}
	if len(unknown) != 1 || unknown[0] != 11 {
		t.Errorf("not known for %v, want only for 11, in which 12 ran", unknown)
	}
}

// TestSumOverHeaps compares two events that the runtime makes of its heaps on
// its own: after a collection that stopped the world throughout, the sizes of
// the heaps add up to those of the process.
func TestSumOverHeaps(t *testing.T) {
	compared := 0
	for _, name := range captureNames(t) {
		out, _ := replay(t, readCapture(t, name))
		stats := heapStatsOf(t, name)
		for i, c := range out.Collections {
			if c.Kind == gc.Background || len(c.Generations) != 5 {
				continue
			}
			for _, g := range c.Generations {
				want := stats[c.Index][g.ID]
				if got, known := g.SizeAfter.Get(); !known || uint64(got) != want {
					t.Errorf("%s, collection %d, %v: heaps have %d bytes, the process %d", name, out.Collections[i].Index, g.ID, got, want)
				}
				compared++
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d generations compared", compared)
	}
}

// heapStatsOf reads the sizes of the GCHeapStats that follows each GCEnd.
func heapStatsOf(t *testing.T, name string) map[uint64][5]uint64 {
	t.Helper()
	r, err := nettrace.NewReader(bytes.NewReader(readCapture(t, name)), nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		t.Fatal(err)
	}
	sizes := make(map[uint64][5]uint64)
	ended := make(map[uint64]uint64) // by thread
	for err == nil {
		var e *nettrace.Event
		if e, err = r.Next(); err != nil {
			break
		}
		switch e.ID {
		case 2:
			ended[e.Thread] = uint64(binary.LittleEndian.Uint32(e.Payload))
		case 4:
			var v [5]uint64
			for g, at := range []int{0, 16, 32, 48, 94} {
				v[g] = binary.LittleEndian.Uint64(e.Payload[at:])
			}
			sizes[ended[e.Thread]] = v
		}
	}
	return sizes
}
