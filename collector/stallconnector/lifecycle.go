package stallconnector

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// tick is how often spans that are settled are looked for.
const tick = 200 * time.Millisecond

func (s *state) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running++; s.running == 1 {
		if s.leader() != nil && !slices.ContainsFunc(s.instances, func(i *instance) bool { return i.out.none() }) {
			s.log.Warn("no logs pipeline exports to the connector: it will know of no stall, and hold all spans for the whole wait",
				zap.Stringer("connector", s.id), zap.Duration("wait", s.attributor.Wait()))
		}
		s.quit, s.done = make(chan struct{}), make(chan struct{})
		go s.run(s.quit, s.done)
	}
	return nil
}

// run lets time pass for spans and for sums, neither of which waits for the other:
// whoever takes in the sums may take long.
func (s *state) run(quit, done chan struct{}) {
	defer close(done)
	var both sync.WaitGroup
	both.Go(func() { every(tick, quit, s.attributor.Tick) })
	both.Go(func() { every(s.config.MetricsInterval, quit, s.export) })
	both.Wait()
}

// every calls f, and not again before it has returned.
func every(d time.Duration, quit chan struct{}, f func(time.Time)) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-quit:
			return
		case now := <-t.C:
			f(now)
		}
	}
}

// export sends the sums.
func (s *state) export(time.Time) {
	s.mu.Lock()
	instances := s.instances
	s.mu.Unlock()
	for _, i := range instances {
		s.exportTo(i)
	}
}

func (s *state) exportTo(i *instance) {
	if i.out.metrics == nil {
		return
	}
	s.exporting.Lock()
	defer s.exporting.Unlock()
	for md := range s.attributor.Metrics(s.began, time.Now(), s.name) {
		err := i.send(func(ctx context.Context) error { return i.out.metrics.ConsumeMetrics(ctx, md) })
		if errors.Is(err, errStopped) {
			return // it had the last sums when it stopped
		}
		s.complain("metrics", err)
	}
}

// stop hands on all that is held, while whoever is behind i still takes it. With
// the last instance it ends the goroutines. It waits for nobody once ctx is over.
func (s *state) stop(ctx context.Context, i *instance) error {
	s.mu.Lock()
	// Who stands behind i stops next: nothing may be sent there any more.
	s.instances = slices.DeleteFunc(slices.Clone(s.instances), func(o *instance) bool { return o == i })
	s.mu.Unlock()
	err := within(ctx, func() {
		s.drain(ctx, i)
		s.exportTo(i)
	})
	err = errors.Join(err, i.close(ctx))

	s.mu.Lock()
	s.running = max(0, s.running-1) // it may never have been started
	last, quit, done := s.running == 0, s.quit, s.done
	if last {
		s.quit = nil
	}
	s.mu.Unlock()
	if !last {
		return err
	}
	if quit != nil {
		close(quit)
		err = errors.Join(err, within(ctx, func() { <-done }))
	}
	s.all.forget(s.id)
	s.telemetry.Shutdown()
	return err
}

// drain releases all that is held, and waits for those who hand it on.
func (s *state) drain(ctx context.Context, i *instance) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		i.consuming.Wait()
	}()
	for {
		s.attributor.Flush()
		select {
		case <-gone:
			s.attributor.Flush() // what they left
			return
		case <-ctx.Done():
			return
		case <-time.After(tick): // one may just have come in
		}
	}
}
