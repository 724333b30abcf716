package otelgc

import (
	"context"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/stall"
)

// loop settles collections and windows, and tells of the sources.
func (m *Monitor) loop() {
	every := resolveEvery
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-m.quit:
			return
		case <-tick.C:
		case <-m.kicked:
		}
		m.turn(m.clock.Now())
		m.turns.end()
		if now := m.pace(); now != every {
			every = now
			tick.Reset(every)
		}
	}
}

// pace is how often there is a turn at least: more often while somebody waits for
// what comes by itself.
func (m *Monitor) pace() time.Duration {
	if m.waiting.Load() > 0 {
		return resolveEvery / 4
	}
	return resolveEvery
}

// turned waits for one whole turn of the loop.
func (m *Monitor) turned(ctx context.Context) error {
	for range 2 { // one under way may be past what is meant
		over := m.turns.over()
		m.kick()
		if err := m.wait(ctx, over); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for a turn of the loop to be over, or for the loop to be.
func (m *Monitor) wait(ctx context.Context, over <-chan struct{}) error {
	select {
	case <-over:
		return nil
	case <-m.quit:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turn does what is due. It runs on one goroutine at a time.
func (m *Monitor) turn(now stall.Instant) {
	m.lately.Store(int64(now))
	if m.exact.finished() {
		m.store.learnUnseen(now)
	}
	m.hosts.Count(now, m.timeline.Newest())
	m.timeline.Settle(now, m.hosts.Passed(now), m.settled, m.tellUnknown)
	m.resolver.resolve(now)
	m.status.tell(now)
}

// kick has the loop look at once.
func (m *Monitor) kick() {
	select {
	case m.kicked <- struct{}{}:
	default:
	}
}

func (m *Monitor) wallOffset() time.Duration { return time.Duration(m.wall.Load()) }

// learnGeneration takes in a second of exact tracing. It runs on the decoder's
// goroutine.
func (m *Monitor) learnGeneration(g *gotrace.Generation, pace *pacer.Pacer) []uint64 {
	unfollow, lost := m.store.learn(g, pace)
	m.tel.Dropped("track", "limit", lost)
	for i := range g.Stops {
		if s := &g.Stops[i]; !s.GC {
			m.tellSuspended(Suspension{Interval: stopOf(s), Reason: s.Reason, Caller: callerOf(s), Fidelity: stall.Exact})
		}
	}
	m.tellLost(&g.Lost)
	m.kick()
	return unfollow
}

// carriers returns the goroutines with windows that are older than the slice.
func (m *Monitor) carriers() []uint64 { return m.store.carriers() }

func (m *Monitor) giveBack() { m.store.giveBack() }

// learnUnseen says that the runtime was not watched up to t.
func (m *Monitor) learnUnseen(t stall.Instant) { m.store.learnUnseen(t) }

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
