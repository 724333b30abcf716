package resolve

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/internal/gotrace"
	traced "github.com/otelgc/otelgc/internal/gotrace/evidence"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// recordRequests traces requests that are windows of ours and user tasks at once. Each
// slot has a goroutine that serves them one after the other.
func recordRequests(t *testing.T, slots []int16, each int) []byte {
	t.Helper()
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	var data bytes.Buffer
	if err := trace.Start(&data); err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for _, slot := range slots {
		workers.Go(func() {
			keep := make([][]byte, 64)
			for i := range each {
				ctx, task := trace.NewTask(context.Background(), "GET /")
				trace.Log(ctx, gotrace.WindowBegin.Key(slot), "")
				for k := range 40 {
					keep[(i+k)%len(keep)] = make([]byte, 1<<(4+k%10))
				}
				if i%50 == 0 {
					runtime.Gosched()
				}
				if i%500 == 0 {
					runtime.ReadMemStats(new(runtime.MemStats))
				}
				task.End()
			}
		})
	}
	workers.Wait()
	trace.Stop()
	return data.Bytes()
}

// TestOutsideIsInside: by its task, in a trace that another process took, a request is
// charged what it is charged by its window from inside.
func TestOutsideIsInside(t *testing.T) {
	p := play(t)
	var slots []int16
	for range 8 {
		slots = append(slots, p.open(p.now).Slot)
	}
	const requests = 10_000
	data := recordRequests(t, slots, requests/len(slots))

	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{Tasks: true, MarkPrefix: gotrace.WindowMarks})
	if err != nil {
		t.Fatal(err)
	}
	outside := traced.NewRequests(p.now)
	var want []traced.Request
	slot := make(map[uint64]int16) // by goroutine; the mark may be of the generation before the end
	for {
		g, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		outside.Begin()
		done, _, lost := outside.Learn(g, func() {})
		if lost != 0 {
			t.Errorf("of %d goroutines there was too much", lost)
		}
		want = append(want, done...)
		for _, m := range g.Marks {
			_, slot[m.Goroutine], _ = gotrace.ParseWindowMark(m.Key)
		}
		for _, task := range g.Tasks {
			if task.End {
				i := len(want) - len(done)
				p.Windows.Requests.Push(window.Ended{Start: done[0].Start, End: task.At, Held: done[0].Start, Slot: slot[task.Goroutine]})
				if done[0].End != task.At || want[i].Task != task.ID {
					t.Fatalf("request %+v is not of %+v", done[0].Span, task)
				}
				done = done[1:]
			}
		}
		p.trace(g)
	}
	outside.Over()
	if len(want) != requests || len(p.got) != requests || outside.TakeCut() != (traced.Cut{}) {
		t.Fatalf("%d requests from outside and %d from inside, want %d each", len(want), len(p.got), requests)
	}
	var sum stall.Share
	for i := range want {
		if diff := cmp.Diff(p.got[i].s, want[i].Share, cmpopts.IgnoreFields(stall.Share{}, "LastCollection")); diff != "" {
			t.Fatalf("request %d from %v to %v (-inside +outside):\n%s", i, want[i].Start, want[i].End, diff)
		}
		sum.Add(&want[i].Share)
	}
	for _, c := range []stall.Cause{stall.GCPause, stall.RuntimeSuspension, stall.GCAssist, stall.Sched} {
		if sum.Charged[c] == 0 {
			t.Errorf("no request is charged with %v: nothing is proven", c)
		}
	}
}
