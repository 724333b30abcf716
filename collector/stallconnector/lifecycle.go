package stallconnector

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// tick is how often spans that are settled are looked for.
const tick = 200 * time.Millisecond

func (s *state) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running++; s.running == 1 {
		s.quit, s.done = make(chan struct{}), make(chan struct{})
		go s.run(s.quit, s.done)
	}
	return nil
}

func (s *state) run(quit, done chan struct{}) {
	defer close(done)
	settle, export := time.NewTicker(tick), time.NewTicker(s.config.MetricsInterval)
	defer settle.Stop()
	defer export.Stop()
	for {
		select {
		case <-quit:
			return
		case now := <-settle.C:
			s.attributor.Tick(now)
		case now := <-export.C:
			s.export(now)
		}
	}
}

// export sends the sums.
func (s *state) export(now time.Time) {
	s.mu.Lock()
	instances := s.instances
	s.mu.Unlock()
	for _, i := range instances {
		s.exportTo(i, now)
	}
}

func (s *state) exportTo(i *instance, now time.Time) {
	if i.out.metrics == nil {
		return
	}
	if md, ok := s.attributor.Metrics(s.began, now, s.name); ok {
		s.complain("metrics", i.out.metrics.ConsumeMetrics(context.Background(), md))
	}
}

// stop hands on all that is held, while whoever is behind i still takes it. With
// the last instance it ends the goroutine.
func (s *state) stop(ctx context.Context, i *instance) error {
	s.mu.Lock()
	// Who stands behind i stops next: nothing may be sent there any more.
	s.instances = slices.DeleteFunc(slices.Clone(s.instances), func(o *instance) bool { return o == i })
	s.mu.Unlock()
	err := s.drain(ctx, i)
	s.exportTo(i, time.Now())

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
		<-done
	}
	s.all.forget(s.id)
	s.telemetry.Shutdown()
	return err
}

// drain releases all that is held, and waits for those who hand it on.
func (s *state) drain(ctx context.Context, i *instance) error {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		i.consuming.Wait()
	}()
	for {
		s.attributor.Flush()
		select {
		case <-gone:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("hand on spans: %w", context.Cause(ctx))
		case <-time.After(tick): // one may just have come in
		}
	}
}
