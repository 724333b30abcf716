package target

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestAzmcpTruth holds what is made of a real process's events to what else is
// known of it.
func TestAzmcpTruth(t *testing.T) {
	server := dotnettest.Start(t, dotnettest.Options{Env: []string{"DOTNET_GCgen0size=40000"}})
	client := dotnetipc.NewClient(located(t, server.PID()))
	client.Timeout = time.Minute
	server.Initialize()

	var answers []dotnettest.Response
	var waited time.Duration // of the process's threads, for a CPU
	var all, again seen
	// Which collections the runtime makes is its own affair, and when: a session that
	// begins within one lacks a part.
	for range 10 {
		answers = answers[:0]
		all = recordSession(t, client, dotnet.Request(), func() {
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
			// While the first session still reads: else the process may collect
			// between the two.
			again = recordSession(t, client, inducing(), func() { awaitCollection(t, client) })
		})
		if all.varied() && !all.cut {
			break
		}
	}
	if all.stats != (dotnetgc.Stats{}) {
		t.Errorf("anomalies: %+v", all.stats)
	}
	if waited > 2*time.Second && !all.varied() { // all the while one of its threads, on average
		t.Logf("kinds and generations are not asked for: its threads waited %v for CPUs in 2s", waited)
	} else {
		checkKinds(t, &all)
	}
	checkIndexes(t, &all)
	if blocking := all.blocking(); len(all.sums) < blocking || blocking == 0 {
		t.Errorf("sizes of the generations of %d collections, want of each of the %d blocking ones", len(all.sums), blocking)
	}
	for _, s := range all.sums {
		if diff := cmp.Diff(s.stats, s.heaps); diff != "" {
			t.Errorf("sizes of the generations (-GCHeapStats +sum over heaps):\n%s", diff)
		}
	}
	t.Run("no answer inside a stop", func(t *testing.T) { checkAnswers(t, &all, answers, waited) })

	checkAgain(t, &all, &again)
}

// checkAgain holds the runtime's own count to what another session, within the
// first, read of it: both have the same collections.
func checkAgain(t *testing.T, all, again *seen) {
	t.Helper()
	type numbered struct {
		Index  uint64
		Kind   gc.Kind
		Reason dotnetgc.Reason
	}
	first := make(map[uint64]numbered)
	for i := range all.Collections {
		c := &all.Collections[i]
		first[c.Index] = numbered{c.Index, c.Kind, c.Reason}
	}
	var induced int
	for i := range again.Collections {
		c := &again.Collections[i]
		if c.Incomplete != "" {
			continue // it ran when the session began
		}
		if c.Reason == dotnetgc.Induced {
			induced++
		}
		if diff := cmp.Diff(numbered{c.Index, c.Kind, c.Reason}, first[c.Index]); diff != "" {
			t.Errorf("a collection of both sessions (-second +first):\n%s", diff)
		}
	}
	if induced == 0 {
		t.Errorf("the second session has no collection that it induced, of %d", len(again.Collections))
	}
}

func inducing() dotnetipc.Request {
	q := dotnet.Request()
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
	kinds, generations := all.kinds()
	for i := range all.Collections {
		c := &all.Collections[i]
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
	if !all.varied() {
		t.Errorf("got %v of generations %v, want all kinds, and generations 0 and 1", kinds, generations)
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

// kinds counts the collections by kind, and by what they collected.
func (all *seen) kinds() (kinds map[gc.Kind]int, generations map[int]int) {
	kinds, generations = make(map[gc.Kind]int), make(map[int]int)
	for i := range all.Collections {
		kinds[all.Collections[i].Kind]++
		generations[all.Collections[i].Generation.Or(-1)]++
	}
	return kinds, generations
}

// varied reports whether there are collections of all kinds, and of the generations
// 0 and 1.
func (all *seen) varied() bool {
	kinds, generations := all.kinds()
	return kinds[gc.Ephemeral] > 0 && kinds[gc.Background] > 0 && kinds[gc.FullBlocking] > 0 && generations[0] > 0 && generations[1] > 0
}

// blocking counts the collections that stopped the program throughout.
func (all *seen) blocking() (n int) {
	for i := range all.Collections {
		if k := all.Collections[i].Kind; k == gc.Ephemeral || k == gc.FullBlocking {
			n++
		}
	}
	return n
}

// checkIndexes asks that no collection is missing, and none there twice.
func checkIndexes(t *testing.T, all *seen) {
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
}
