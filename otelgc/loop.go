package otelgc

import (
	"context"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// loop settles collections and windows, and tells of the sources.
func (m *Monitor) loop() {
	tick := time.NewTicker(resolveEvery)
	defer tick.Stop()
	for {
		var waiter chan struct{}
		select {
		case <-m.quit:
			return
		case <-tick.C:
		case <-m.kicked:
		case waiter = <-m.turns:
		}
		m.turn(m.clock.Now())
		if waiter != nil {
			close(waiter)
		}
	}
}

// turned waits for one whole turn of the loop.
func (m *Monitor) turned(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case m.turns <- done:
	case <-m.quit:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-m.quit:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turn does what is due. It runs on one goroutine at a time.
func (m *Monitor) turn(now stall.Instant) {
	if m.exact.finished() {
		m.book.learnUnseen(now)
	}
	m.host.poll(now)
	m.hosts.count(now, m.reconciler.newest())
	m.reconciler.settle(now, m.settled)
	m.suspensions.settle(now, m.tellUnknown)
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
func (m *Monitor) learnGeneration(g *gotrace.Generation, pace *pacer) []uint64 {
	others, unfollow, lost := m.book.learn(g, pace)
	m.tel.Dropped("track", "limit", lost, 0)
	for i := range others {
		s := &others[i]
		m.tellSuspended(Suspension{Interval: s.interval(), Reason: s.reason, Caller: s.caller, Fidelity: stall.Exact})
	}
	m.tellLost(&g.Lost)
	m.kick()
	return unfollow
}

// carriers returns the goroutines with windows that are older than the slice.
func (m *Monitor) carriers() []uint64 { return m.book.carriers() }

func (m *Monitor) giveBack() { m.book.giveBack() }

// learnUnseen says that the runtime was not watched up to t.
func (m *Monitor) learnUnseen(t stall.Instant) { m.book.learnUnseen(t) }
