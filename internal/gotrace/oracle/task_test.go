package oracle

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime/trace"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

func TestCapturesOfTasks(t *testing.T) {
	for _, c := range gotracetest.Captures(t, "../testdata/tasks") {
		t.Run(c.Name, func(t *testing.T) {
			if want, _ := compareTraces(t, c.Bytes); len(want.tasks) == 0 {
				t.Error("there are no tasks to compare")
			}
		})
	}
}

// TestRandomTasks compares a program whose goroutines begin tasks within tasks, and
// end those of each other, in every order, and in another generation than they began.
func TestRandomTasks(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
	const (
		goroutines = 8
		names      = 100
		lasts      = 2500 * time.Millisecond // a generation is a second
	)
	pool := taskPool{contexts: []context.Context{context.Background()}, tasks: make([]*trace.Task, 1)}
	_, pool.tasks[0] = trace.NewTask(pool.contexts[0], "before the trace")
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	until := time.Now().Add(lasts)
	for seed := range uint64(goroutines) {
		wg.Go(func() {
			for r := rand.New(rand.NewPCG(seed, 17)); time.Now().Before(until); {
				if r.IntN(3) == 0 {
					pool.end(r)
				} else {
					pool.begin(r, "task "+strconv.Itoa(r.IntN(names)))
				}
				if r.IntN(4) == 0 {
					time.Sleep(time.Duration(r.IntN(int(2 * time.Millisecond))))
				}
			}
		})
	}
	wg.Wait()
	trace.Stop()
	want, got := compareTraces(t, out.Bytes())
	begun := map[uint64]task{}
	var nested, away, ended int
	for _, k := range want.tasks {
		if first, ok := begun[k.id]; k.end && ok {
			if ended++; first.g != k.g {
				away++
			}
			continue
		}
		if begun[k.id] = k; k.parent != 0 {
			nested++
		}
	}
	if min(nested, away, ended) == 0 || len(got.spans) < 2 || got.lost.Any() {
		t.Errorf("%d tasks nested, %d ended, %d of them by another goroutine, in %d generations, lost %+v, want some of each and nothing lost",
			nested, ended, away, len(got.spans), got.lost)
	}
}

// taskPool is the tasks that goroutines share.
type taskPool struct {
	mu       sync.Mutex
	contexts []context.Context // of tasks, some of them ended, and of none
	tasks    []*trace.Task     // that have not ended, or twice over
}

const mostContexts = 200

func (p *taskPool) begin(r *rand.Rand, name string) {
	p.mu.Lock()
	parent := p.contexts[r.IntN(len(p.contexts))]
	p.mu.Unlock()
	ctx, k := trace.NewTask(parent, name)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks = append(p.tasks, k)
	if len(p.contexts) < mostContexts {
		p.contexts = append(p.contexts, ctx)
		return
	}
	p.contexts[1+r.IntN(mostContexts-1)] = ctx
}

// end ends a task, which one in ten is ended again after.
func (p *taskPool) end(r *rand.Rand) {
	p.mu.Lock()
	if len(p.tasks) == 0 {
		p.mu.Unlock()
		return
	}
	i := r.IntN(len(p.tasks))
	k := p.tasks[i]
	if r.IntN(10) > 0 {
		p.tasks[i] = p.tasks[len(p.tasks)-1]
		p.tasks = p.tasks[:len(p.tasks)-1]
	}
	p.mu.Unlock()
	k.End()
}

// compareTasks compares the begins and ends of each goroutine, in order.
func compareTasks(t *testing.T, want, got []task, clock offsets) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("got %d begins and ends of tasks, want %d", len(got), len(want))
		return
	}
	byG := map[uint64][]task{}
	for _, k := range got {
		byG[k.g] = append(byG[k.g], k)
	}
	for _, w := range want {
		list := byG[w.g]
		if len(list) == 0 {
			t.Errorf("task %+v is missing", w)
			continue
		}
		k := list[0]
		byG[w.g] = list[1:]
		near := clock.near(w.at, k.at)
		if k.at = w.at; k != w || !near {
			t.Errorf("task: got %+v, want %+v, near %v", k, w, near)
		}
	}
}
