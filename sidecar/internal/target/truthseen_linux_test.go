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
	numbers := numbers{begun: make(map[uint32]bool), ended: make(map[uint64]uint32)}
	for {
		e, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Errorf("read stream: %v", err)
			}
			break
		}
		model.Add(e)
		if e.Provider != dotnetgc.Provider {
			continue // every session that begins has an event of its own in all others
		}
		if numbers.isRest(e) {
			all.cut = true
		}
		all.sum(sums, e, numbers.alone(e.Thread))
	}
	model.Close()
	all.Output, all.stats = model.Take(), model.Stats()
	return all
}

// numbers follows which collections began, and which of them ended last on a thread.
type numbers struct {
	begun map[uint32]bool
	last  uint32
	ended map[uint64]uint32
	some  bool // an event came
}

// isRest reports whether an event can only be of a collection that had begun before
// the session: the first is not that of a stop that begins (GCSuspendEEBegin), or it is
// the end of one (GCEnd) whose start (GCStart) is not there.
func (n *numbers) isRest(e *nettrace.Event) bool {
	first := !n.some
	n.some = true
	switch e.ID {
	case 1:
		number := binary.LittleEndian.Uint32(e.Payload)
		n.begun[number], n.last = true, max(n.last, number)
	case 2:
		number := binary.LittleEndian.Uint32(e.Payload)
		n.ended[e.Thread] = number
		return !n.begun[number]
	}
	return first && e.ID != 9
}

// alone reports whether no collection began after the one that ended last on a thread
// had: within a background collection others run, and change the sizes.
func (n *numbers) alone(thread uint64) bool { return n.last == n.ended[thread] }

// sum reads the two events itself, by the offsets of their payloads
// (GCHeapStats_V2 and GCPerHeapHistory_V3 of 64 bit).
func (all *seen) sum(open map[uint64]*heapSums, e *nettrace.Event, alone bool) {
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
		// the same thread; in a background one they do, too, but of later sizes.
		if s := open[e.Thread]; s != nil && alone {
			s.stats = [gc.NumGenerations]uint64{at(0), at(16), at(32), at(48), at(94)}
			all.sums = append(all.sums, *s)
		}
		delete(open, e.Thread)
	}
}
