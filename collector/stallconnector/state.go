package stallconnector

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

// states holds what the instances of one component id share.
type states struct {
	mu sync.Mutex
	of map[component.ID]*state
}

// state is what the instances of one component share: they are counted, and the
// last one that stops ends it.
type state struct {
	all        *states
	id         component.ID
	attributor *attribution.Attributor
	config     *Config
	log        *zap.Logger
	name       string // of this Collector, for the metrics
	telemetry  telemetry
	began      time.Time
	exporting  sync.Mutex // one export at a time, each later than the last

	mu        sync.Mutex
	instances []*instance
	running   int
	quit      chan struct{}
	done      chan struct{}
}

func (a *states) instance(s connector.Settings, c component.Config, out outputs) (*instance, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	st := a.of[s.ID]
	if st == nil {
		config := c.(*Config)
		st = &state{
			all: a, id: s.ID, attributor: attribution.New(config.Config), config: config, log: s.Logger,
			name: instanceID(s), began: time.Now(),
		}
		var err error
		if st.telemetry, err = observe(s, st.attributor); err != nil {
			return nil, err
		}
		a.of[s.ID] = st
	}
	i := &instance{state: st, out: out}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	st.mu.Lock()
	defer st.mu.Unlock()
	st.instances = append(st.instances, i)
	return i, nil
}

// instanceID returns what tells who counts here from others that count spans of
// the same services: the Collector, and of several connectors in it the name of
// this one. They would write the same series.
func instanceID(s connector.Settings) (id string) {
	if v, ok := s.Resource.Attributes().Get("service.instance.id"); ok {
		id = v.AsString()
	}
	if name := s.ID.Name(); name != "" {
		id += "/" + name
	}
	return id
}

// first returns the first instance with such outputs, nil if there is none.
func (s *state) first(is func(outputs) bool) *instance {
	if at := slices.IndexFunc(s.instances, func(i *instance) bool { return is(i.out) }); at >= 0 {
		return s.instances[at]
	}
	return nil
}

// leader returns the instance that holds spans.
func (s *state) leader() *instance {
	return cmp.Or(s.first(outputs.handsOn), s.first(outputs.counts), s.first(outputs.takesEvents))
}

// learns reports whether i is the one that learns from events. The Collector
// gives the same to every instance that takes in logs.
func (s *state) learns(i *instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first(outputs.none) == i
}

// enter returns what becomes of spans that come in by i, if it is the one that holds
// them, and the instance by which events of slow spans leave, nil if there is none. It
// counts the caller, which calls consuming.Done when it returns, so that stop can wait for it.
func (s *state) enter(i *instance) (sink attribution.Sink, slow *instance, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.instances, i) {
		return sink, nil, false, errStopped
	}
	if s.leader() != i {
		return sink, nil, false, nil
	}
	i.consuming.Add(1)
	if i.out.handsOn() {
		sink.Take = func(p *attribution.Parcel) {
			s.logRefused("spans", i.send(func(ctx context.Context) error { return i.out.traces.ConsumeTraces(ctx, p.Spans) }))
			p.Done(true)
		}
	}
	sink.Count = s.first(outputs.counts) != nil
	if slow = s.first(outputs.takesEvents); slow != nil {
		sink.Slow = slow.queueEvents
	}
	return sink, slow, true, nil
}

// logRefused logs that the next component refused something. It was the last that
// could be done: whoever sent it has long had its answer.
func (s *state) logRefused(what string, err error) {
	if err != nil {
		s.telemetry.refused(what)
		s.log.Warn("the next component refused "+what, zap.Error(err))
	}
}

func (a *states) forget(id component.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, id)
}

// outputs is where an instance sends to; at most one of them is set.
type outputs struct {
	traces  consumer.Traces
	metrics consumer.Metrics
	logs    consumer.Logs
}

func (o outputs) handsOn() bool     { return o.traces != nil }
func (o outputs) counts() bool      { return o.metrics != nil }
func (o outputs) takesEvents() bool { return o.logs != nil }

// none reports whether nothing leaves by an instance: it takes in events.
func (o outputs) none() bool { return o == outputs{} }

// instance is the connector between two signals.
type instance struct {
	*state
	out       outputs
	consuming sync.WaitGroup // of callers that wait; none is added once it has stopped

	ctx     context.Context // of what is sent
	cancel  context.CancelFunc
	closed  bool           // nothing may be sent; guarded by state.mu
	sending sync.WaitGroup // of what is under way; none is added once it is closed
	events  eventQueue
}

// Capabilities says that spans are changed where they are handed on.
func (i *instance) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: i.out.traces != nil}
}

// Start starts what the instances share.
func (i *instance) Start(context.Context, component.Host) error { return i.state.start() }

// Shutdown hands on what is held, with what is known. No caller waits any longer
// when it returns, or ctx is over.
func (i *instance) Shutdown(ctx context.Context) error { return i.state.stop(ctx, i) }

// ConsumeLogs learns from the events among the records, if it is this instance
// that does.
func (i *instance) ConsumeLogs(_ context.Context, ld plog.Logs) error {
	if i.state.learns(i) {
		i.attributor.Learn(ld)
	}
	return nil
}

// ConsumeTraces holds the spans, if it is this instance that does. It returns at
// once, or with [Config.WaitForResult] when they were handed on. What it has taken
// when it stops goes on; then it takes nothing any more.
func (i *instance) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	if i.config.WaitForResult && i.out.traces != nil {
		return i.deliver(ctx, td)
	}
	sink, _, mine, err := i.enter(i)
	if mine {
		defer i.consuming.Done()
		i.attributor.Hold(td, sink, time.Now())
	}
	return err
}

// tick is how often spans that are settled are looked for.
const tick = 200 * time.Millisecond

func (s *state) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running++; s.running == 1 {
		if s.leader() != nil && s.first(outputs.none) == nil {
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
		s.logRefused("metrics", err)
	}
}

// stop hands on all that is held, while whoever is behind i still takes it. With
// the last instance it ends the goroutines. It waits for nobody once ctx is over.
func (s *state) stop(ctx context.Context, i *instance) error {
	s.mu.Lock()
	// The component behind i stops next: nothing may be sent to it any more.
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

// drain releases all that is held, and waits for the callers that hand it on.
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
