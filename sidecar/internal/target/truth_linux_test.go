package target

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall/gc"
)

// seen is all that one session of a real process held.
type seen struct {
	dotnetgc.Output
	stats dotnetgc.Stats
	sums  []heapSums
}

// heapSums is what the runtime says twice of one blocking collection: the sizes
// of the generations, as a sum and heap by heap.
type heapSums struct{ stats, heaps [gc.NumGenerations]uint64 }

// recordSession watches a process through a session of its own while drive
// runs, and to the end of what the runtime had.
func recordSession(t *testing.T, client *dotnetipc.Client, q dotnetipc.Request, drive func()) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	for {
		e, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Errorf("read stream: %v", err)
			}
			break
		}
		model.Add(e)
		all.sum(sums, e)
	}
	model.Close()
	all.Output, all.stats = model.Take(), model.Stats()
	return all
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

// TestAzmcpTruth holds what is made of a real process's events to what else is
// known of it.
func TestAzmcpTruth(t *testing.T) {
	server := dotnettest.Start(t, dotnettest.Options{Env: []string{"DOTNET_GCgen0size=40000"}})
	client := dotnetipc.NewClient(located(t, server.PID()))
	client.Timeout = time.Minute
	server.Initialize()

	var answers []dotnettest.Response
	var waited time.Duration // of the process's threads, for a CPU
	all := recordSession(t, client, request(), func() {
		for i := range 80 {
			server.List(i % 4 / 3 * 1_000_000)
		}
		stop := induce(t, client)
		before := runDelay(t, server.PID())
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
			answers = append(answers, server.Ping())
		}
		waited = runDelay(t, server.PID()) - before
		stop()
	})
	if all.stats != (dotnetgc.Stats{}) {
		t.Errorf("anomalies: %+v", all.stats)
	}
	checkKinds(t, &all)
	last := checkIndexes(t, &all)
	for _, s := range all.sums {
		if diff := cmp.Diff(s.stats, s.heaps); diff != "" {
			t.Errorf("sizes of the generations (-GCHeapStats +sum over heaps):\n%s", diff)
		}
	}
	checkAnswers(t, &all, answers, waited)

	// The runtime's own count, read in another session: an induced collection
	// has the next number.
	again := recordSession(t, client, inducing(), func() { awaitCollection(t, client) })
	if len(again.Collections) == 0 || again.Collections[0].Index != last+1 {
		t.Errorf("the next collection: got %+v, want index %d", again.Collections, last+1)
	}
}

func inducing() dotnetipc.Request {
	q := request()
	q.Providers[0].Keywords |= dotnetipc.KeywordGCHeapCollect
	q.Induce = true
	return q
}

// awaitCollection returns when the collection that a session induced is over:
// it runs before the runtime answers anything else.
func awaitCollection(t *testing.T, client *dotnetipc.Client) {
	t.Helper()
	if _, err := client.ProcessInfo(t.Context()); err != nil {
		t.Error(err)
	}
}

// induce makes the process collect the whole heap, again and again, by sessions
// that end at once. What it returns ends that.
func induce(t *testing.T, client *dotnetipc.Client) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		for ctx.Err() == nil {
			s, err := client.Collect(context.WithoutCancel(ctx), inducing())
			if err != nil {
				t.Error(err)
				return
			}
			// Read on until the collection was told: then the session ends
			// quickly.
			b := make([]byte, 1<<16)
			for range 4 {
				_ = s.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
				if _, err := s.Read(b); errors.Is(err, os.ErrDeadlineExceeded) {
					break
				}
			}
			_ = s.Close()
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

func checkKinds(t *testing.T, all *seen) {
	t.Helper()
	kinds := make(map[gc.Kind]int)
	generations := make(map[int]int)
	for i := range all.Collections {
		c := &all.Collections[i]
		kinds[c.Kind]++
		generations[c.Generation.Or(-1)]++
		if c.Incomplete != "" {
			t.Errorf("collection %d: %s", c.Index, c.Incomplete)
		}
		if c.Reason == dotnetgc.Induced && c.Kind != gc.FullBlocking {
			t.Errorf("induced collection %d is %v, want full_blocking", c.Index, c.Kind)
		}
		if want := map[bool]int{true: 2, false: 1}[c.Kind == gc.Background]; len(c.Stops) != want {
			t.Errorf("collection %d, %v: %d stops, want %d", c.Index, c.Kind, len(c.Stops), want)
		}
	}
	t.Logf("%v, generations %v", kinds, generations)
	for _, kind := range []gc.Kind{gc.Ephemeral, gc.Background, gc.FullBlocking} {
		if kinds[kind] == 0 {
			t.Errorf("no %v collection", kind)
		}
	}
	if generations[0] == 0 || generations[1] == 0 {
		t.Errorf("generations: got %v, want 0 and 1 among them", generations)
	}
	var induced int
	for i := range all.Collections {
		if all.Collections[i].Trigger == "Induced" {
			induced++
		}
	}
	if induced == 0 {
		t.Error("no collection appears as induced")
	}
}

// checkIndexes returns the last index: there is no hole before it.
func checkIndexes(t *testing.T, all *seen) uint64 {
	t.Helper()
	indexes := make(map[uint64]bool)
	first, last := uint64(1<<63), uint64(0)
	for i := range all.Collections {
		index := all.Collections[i].Index
		if indexes[index] {
			t.Errorf("collection %d is there twice", index)
		}
		indexes[index] = true
		first, last = min(first, index), max(last, index)
	}
	if want := last - first + 1; uint64(len(indexes)) != want {
		t.Errorf("%d collections with indexes %d to %d", len(indexes), first, last)
	}
	return last
}

// guard is what is left out at both ends of a stop: an answer that was written
// before it is read a little later.
const guard = 500 * time.Microsecond

// checkAnswers: with one small request in flight, no answer arrives while the
// world stands still. It would, were the clocks not the same. An answer whose
// reader waited for a CPU for longer than the guard may have come earlier, and
// tells nothing. Where the process itself waited for CPUs, an answer that was on
// its way through write(2) when the threads were stopped may go on later, which
// stops of managed code do not keep it from: few do, and chance would be many.
func checkAnswers(t *testing.T, all *seen, answers []dotnettest.Response, waited time.Duration) {
	t.Helper()
	whole := answers[len(answers)-1].Received.Sub(answers[0].Sent)
	late := len(answers)
	answers = slices.DeleteFunc(answers, func(a dotnettest.Response) bool { return a.Waited > guard })
	late -= len(answers)
	var span time.Duration
	inside := 0
	for i := range all.Stops {
		s := &all.Stops[i]
		if s.Duration() <= 2*time.Millisecond {
			continue
		}
		from, to := s.Suspended.Add(guard), s.RestartBegin.Add(-guard)
		span += to.Sub(from)
		for _, a := range answers {
			if a.Received > from && a.Received < to {
				inside++
				t.Logf("answer at %d, %v late, inside %d to %d", a.Received, a.Waited, s.Suspended, s.RestartBegin)
			}
		}
	}
	expected := float64(len(answers)) * span.Seconds() / whole.Seconds()
	t.Logf("%d answers in %v, %d more too late to tell; %d inside stops, %.1f expected were the clocks unrelated",
		len(answers), whole, late, inside, expected)
	if expected < 5 {
		t.Skipf("the stops were too short to tell: %.1f answers expected inside", expected)
	}
	most := 0
	if waited > whole/20 {
		most = int(expected / 50)
		t.Logf("the process waited %v for CPUs: %d answers may have been under way", waited, most)
	}
	if inside > most {
		t.Errorf("%d answers arrived while the world stood still, at most %d may", inside, most)
	}
}

// runDelay returns how long the threads of a process have waited for a CPU: the
// second field of their schedstat.
func runDelay(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		var ran, waited int64
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(waited)
	}
	return sum
}
