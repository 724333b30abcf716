package otelgc

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/evidence"
	"github.com/otelgc/otelgc/stall"
)

// resolveEvery is how often there is a turn at least.
const resolveEvery = 100 * time.Millisecond

// loop does the work of a monitor in turns, of which others may wait for one.
type loop struct {
	*turns
	kicked  chan struct{}
	lately  atomic.Int64 // Instant of the last turn
	waiting atomic.Int32 // calls of Flush that wait
	quit    chan struct{}
	ended   sync.WaitGroup
}

func newLoop() *loop {
	return &loop{turns: newTurns(), kicked: make(chan struct{}, 1), quit: make(chan struct{})}
}

// start takes one turn after the other until stop is called.
func (l *loop) start(turn func()) { l.ended.Go(func() { l.run(turn) }) }

func (l *loop) run(turn func()) {
	every := resolveEvery
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-tick.C:
		case <-l.kicked:
		}
		turn()
		l.end()
		if now := l.pace(); now != every {
			every = now
			tick.Reset(every)
		}
	}
}

// stop ends the loop, and returns when it has ended.
func (l *loop) stop() {
	close(l.quit)
	l.ended.Wait()
}

// stopped reports whether there will be no turn any more.
func (l *loop) stopped() bool {
	select {
	case <-l.quit:
		return true
	default:
		return false
	}
}

// pace is how often there is a turn at least: more often while a caller waits for what
// comes by itself.
func (l *loop) pace() time.Duration {
	if l.waiting.Load() > 0 {
		return resolveEvery / 4
	}
	return resolveEvery
}

// kick begins a turn at once.
func (l *loop) kick() {
	select {
	case l.kicked <- struct{}{}:
	default:
	}
}

// turned waits for one whole turn.
func (l *loop) turned(ctx context.Context) error {
	for range 2 { // one under way may be past what is meant
		over := l.over()
		l.kick()
		if err := l.wait(ctx, over); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for a turn to be over, or for the loop to be.
func (l *loop) wait(ctx context.Context, over <-chan struct{}) error {
	select {
	case <-over:
		return nil
	case <-l.quit:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turn settles collections and windows that are due, and reports on the sources.
func (m *Monitor) turn() { m.turnAt(m.here.clock.Now()) }

func (m *Monitor) turnAt(now stall.Instant) {
	m.loop.lately.Store(int64(now))
	if m.exact.Finished() {
		m.exact.Store.LearnUnseen(now)
	}
	m.machine.side.Count(now, m.timeline.Newest())
	m.timeline.Settle(now, m.machine.side.Passed(now), m.settled, m.reportUnknown)
	m.resolver.Resolve(now)
	m.status.tell(now)
}

func (m *Monitor) wallOffset() time.Duration { return time.Duration(m.status.wall.Load()) }

// observer takes in what the tracer found, on the tracer's goroutines.
type observer struct{ *Monitor }

func (m observer) Generation(g *gotrace.Generation) {
	for i := range g.Stops {
		if s := &g.Stops[i]; !s.GC {
			m.reportStop(Suspension{Interval: evidence.Interval(s), Reason: s.Reason, Caller: s.Via(), Fidelity: stall.Exact})
		}
	}
	m.tellLost(&g.Lost)
	m.loop.kick()
}

func (m observer) Dropped(item, why string, n uint64) { m.tel.Dropped(item, why, n) }

func (m observer) Failed(err error) { m.operator.report(fmt.Errorf("exact fidelity: %w", err)) }

// turns lets others wait for the turns of a loop. The loop makes the channels, not
// whoever waits: if that is in a bubble of testing/synctest, the runtime would end the
// program when the loop, which is outside, closes a channel of the bubble.
type turns struct {
	mu   sync.Mutex
	next chan struct{}
}

func newTurns() *turns { return &turns{next: make(chan struct{})} }

// over returns a channel that is closed when a turn is over, the one under way if
// there is one.
func (t *turns) over() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next
}

// end says that a turn is over.
func (t *turns) end() {
	next := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.next)
	t.next = next
}
