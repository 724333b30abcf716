package spans

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/otelgc"
)

// costly counts how often it is told to export, and may fail to.
type costly struct {
	counter
	flushes int
	err     error
	hangs   bool // until the context ends
}

func (c *costly) ForceFlush(ctx context.Context) error {
	c.flushes++
	if c.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.err
}

// TestFlushesCost: an export takes its time, and who waits for spans has one in
// 1,024 of them; after one that fails the others go on as if nobody waited.
func TestFlushesCost(t *testing.T) {
	type calls struct{ Flushes, Rests int }
	dead := errors.New("nobody listens")
	for name, c := range map[string]struct {
		spans int
		err   error
		want  calls
	}{
		"few":                {63, nil, calls{}},
		"some":               {2000, nil, calls{Flushes: 1}},
		"no whole portions":  {20_000, nil, calls{Flushes: 19}},
		"all":                {MaxHeld, nil, calls{Flushes: 31}},
		"some, and it fails": {2000, dead, calls{1, 1 + 15}},
		"all, and it fails":  {MaxHeld, dead, calls{1, 31}},
		"some, and it hangs": {2000, nil, calls{1, 1 + 15}},
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, otelgc.WithExactBudget(0))
			out := costly{err: c.err, hangs: strings.Contains(name, "hangs")}
			p := &processor{m: m, next: &out, names: newNames(), wake: make(chan struct{}, 1), quit: make(chan struct{})}
			rests := 0
			p.rest, p.emptyWithin = func() { rests++ }, 100*time.Millisecond
			resolve(t, p, c.spans)
			ctx := context.Background()
			p.flush.Store(&ctx)
			p.handOn()
			if diff := cmp.Diff(c.want, calls{out.flushes, rests}); diff != "" {
				t.Errorf("what the worker did (-want +got):\n%s", diff)
			}
			if err := p.Shutdown(ctx); err != nil {
				t.Fatal(err)
			}
			if got := out.all.Load(); got != int64(c.spans) {
				t.Errorf("%d spans came out, want %d", got, c.spans)
			}
		})
	}
}

// patient is a processor whose export takes until the context ends. It says whether
// that is by itself.
type patient struct {
	counter
	in chan bool
}

func (p *patient) ForceFlush(ctx context.Context) error {
	_, limited := ctx.Deadline()
	p.in <- limited
	<-ctx.Done()
	return ctx.Err()
}

// TestShutdownGivesTheTimeItHas: an export that empties the queue of next has all the
// time of Shutdown's context, since no other spans wait for it, and no more; while
// others end it has little.
func TestShutdownGivesTheTimeItHas(t *testing.T) {
	for name, shut := range map[string]bool{"Shutdown": true, "ForceFlush": false} {
		t.Run(name, func(t *testing.T) {
			m := start(t, otelgc.WithExactBudget(0))
			const n = 3 * flushEvery
			out := &patient{in: make(chan bool, n)}
			p := &processor{m: m, next: out, names: newNames(), wake: make(chan struct{}, 1), quit: make(chan struct{})}
			p.rest, p.emptyWithin = func() {}, 100*time.Millisecond
			resolve(t, p, n)
			p.closed.Store(shut)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- p.settle(ctx) }()
			waitUntil(t, func() bool { return p.flush.Load() != nil })
			p.worker.Go(p.run) // all that is resolved is there before it looks
			p.rouse()
			if limited := <-out.in; limited == shut {
				t.Errorf("the export has a limit of its own: %v", limited)
			}
			cancel()
			<-done
			waitUntil(t, func() bool { return out.all.Load() == n })
			close(p.quit)
			p.worker.Wait()
		})
	}
}
