package target

import (
	"context"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall/gc"
)

// seen is all that one session of a real process held.
type seen struct {
	dotnetgc.Output
	stats dotnetgc.Stats
	sums  []heapSums
	cut   bool // it began while the process collected
}

// heapSums is what the runtime says twice of one blocking collection: the sizes
// of the generations, as a sum and heap by heap.
type heapSums struct{ stats, heaps [gc.NumGenerations]uint64 }

// recordSession watches a process through a session of its own while drive
// runs, and to the end of what the runtime had.
func recordSession(t *testing.T, client *dotnetipc.Client, q dotnetipc.Request, drive func()) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s, err := client.Collect(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	result := make(chan seen, 1)
	go func() { result <- readAll(t, s) }()
	drive()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
	return <-result
}

func readAll(t *testing.T, s io.Reader) (all seen) {
	r, err := nettrace.NewReader(s, nettrace.Options{})
	if err != nil {
		t.Error(err)
		return all
	}
	model := dotnetgc.NewModel(r.Header(), dotnetgc.Options{})
	sums := make(map[uint64]*heapSums) // by thread
	begun := make(map[uint32]bool)     // collections, by number
	for first := true; ; first = false {
		e, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Errorf("read stream: %v", err)
			}
			break
		}
		model.Add(e)
		all.sum(sums, e)
		all.cut = all.cut || isRest(begun, e, first)
	}
	model.Close()
	all.Output, all.stats = model.Take(), model.Stats()
	return all
}

// isRest reports whether an event can only be of a collection that had begun before
// the session: the first is not that of a stop that begins (GCSuspendEEBegin), or it is
// the end of one (GCEnd) whose start (GCStart) is not there.
func isRest(begun map[uint32]bool, e *nettrace.Event, first bool) bool {
	switch e.ID {
	case 1:
		begun[binary.LittleEndian.Uint32(e.Payload)] = true
	case 2:
		return !begun[binary.LittleEndian.Uint32(e.Payload)]
	}
	return first && e.ID != 9
}

// sum reads the two events itself, by the offsets of their payloads
// (GCHeapStats_V2 and GCPerHeapHistory_V3 of 64 bit).
func (all *seen) sum(open map[uint64]*heapSums, e *nettrace.Event) {
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(e.Payload[i:]) }
	switch e.ID {
	case 204:
		s := open[e.Thread]
		if s == nil {
			s = new(heapSums)
			open[e.Thread] = s
		}
		for g := range s.heaps {
			s.heaps[g] += at(86 + g*80 + 3*8)
		}
	case 4:
		// In a blocking collection of a workstation the sums follow the heaps on
		// the same thread; in a background one they do, too.
		if s := open[e.Thread]; s != nil {
			s.stats = [gc.NumGenerations]uint64{at(0), at(16), at(32), at(48), at(94)}
			all.sums = append(all.sums, *s)
		}
		delete(open, e.Thread)
	}
}
