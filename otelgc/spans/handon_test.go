package spans

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// narrow is a batch processor with a small queue, which drops what does not fit. It
// is emptied by ForceFlush, and by the time in which nothing comes.
type narrow struct {
	counter
	room          int
	queued, most  int
	kept, dropped int
	last          time.Time
}

func (n *narrow) OnEnd(sdktrace.ReadOnlySpan) {
	if time.Since(n.last) > 0 {
		n.empty()
	}
	n.last = time.Now()
	if n.queued == n.room {
		n.dropped++
		return
	}
	n.queued++
	n.most = max(n.most, n.queued)
}

func (n *narrow) empty() { n.kept, n.queued = n.kept+n.queued, 0 }

func (n *narrow) ForceFlush(context.Context) error { n.empty(); return nil }

// TestPortions: as many spans as may be held, resolved at once, find room in the
// queue of a batch processor, whether somebody waits for them or not.
func TestPortions(t *testing.T) {
	const room = 2048 // of the SDK's by default
	for name, flushed := range map[string]bool{"in time": false, "somebody waits": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := narrow{room: room}
				p := newProcessor(new(atOnce), &out)
				end(p, maxHeld)
				begin, ctx := time.Now(), context.Background()
				if flushed {
					p.waiter.Store(&ctx)
				}
				p.handOn()
				if took := time.Since(begin); flushed != (took == 0) || took > time.Second/2 {
					t.Errorf("it took %v", took)
				}
				if err := p.Shutdown(ctx); err != nil {
					t.Fatal(err)
				}
				if out.empty(); out.kept != maxHeld || out.dropped != 0 {
					t.Errorf("%d spans were kept and %d dropped, want all %d kept", out.kept, out.dropped, maxHeld)
				}
				if out.most > room/2 {
					t.Errorf("%d spans at once, want half of the queue at most", out.most)
				}
			})
		})
	}
}

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
		"all":                {maxHeld, nil, calls{Flushes: 31}},
		"some, and it fails": {2000, dead, calls{1, 1 + 15}},
		"all, and it fails":  {maxHeld, dead, calls{1, 31}},
		"some, and it hangs": {2000, nil, calls{1, 1 + 15}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := costly{err: c.err, hangs: strings.Contains(name, "hangs")}
				p := newProcessor(new(atOnce), &out)
				end(p, c.spans)
				begin, ctx := time.Now(), context.Background()
				p.waiter.Store(&ctx)
				p.handOn()
				rests := int(time.Since(begin) % flushTimeout / portionEvery)
				if diff := cmp.Diff(c.want, calls{out.flushes, rests}); diff != "" {
					t.Errorf("what the worker did (-want +got):\n%s", diff)
				}
				if hung := time.Since(begin) >= flushTimeout; hung != out.hangs {
					t.Errorf("it took %v", time.Since(begin))
				}
				if err := p.Shutdown(ctx); err != nil {
					t.Fatal(err)
				}
				if got := out.all.Load(); got != int64(c.spans) {
					t.Errorf("%d spans came out, want %d", got, c.spans)
				}
			})
		})
	}
}

// patient is a processor whose export takes until the context ends. It says whether
// that is by itself.
type patient struct {
	counter
	limited []bool
}

func (p *patient) ForceFlush(ctx context.Context) error {
	_, limited := ctx.Deadline()
	p.limited = append(p.limited, limited)
	<-ctx.Done()
	return ctx.Err()
}

// TestShutdownGivesTheTimeItHas: an export that empties the queue of next has all the
// time of Shutdown's context, since no other spans wait for it, and no more; while
// others end it has little.
func TestShutdownGivesTheTimeItHas(t *testing.T) {
	for name, shut := range map[string]bool{"Shutdown": true, "ForceFlush": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 3 * flushEvery
				var out patient
				p := newProcessor(new(atOnce), &out)
				end(p, n)
				p.closed.Store(shut)
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- p.settle(ctx) }()
				synctest.Wait()
				p.worker.Go(p.run)
				synctest.Wait()
				if len(out.limited) != 1 || out.limited[0] == shut {
					t.Errorf("exports have a limit of their own: %v, want one, which has: %v", out.limited, !shut)
				}
				cancel()
				<-done
				close(p.quit)
				p.worker.Wait()
				if got := out.all.Load(); got != n {
					t.Errorf("%d spans came out, want %d", got, n)
				}
			})
		})
	}
}
