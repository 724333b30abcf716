package stallconnector

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
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

// leader returns the instance that holds spans.
func (s *state) leader() *instance {
	var best *instance
	rank := func(o outputs) int {
		switch {
		case o.traces != nil:
			return 3
		case o.metrics != nil:
			return 2
		case o.logs != nil:
			return 1
		}
		return 0
	}
	for _, i := range s.instances {
		if rank(i.out) > 0 && (best == nil || rank(i.out) > rank(best.out)) {
			best = i
		}
	}
	return best
}

// learns reports whether i is the one that learns from events. The Collector
// gives the same to every instance that takes in logs.
func (s *state) learns(i *instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.instances {
		if o.out.none() {
			return o == i
		}
	}
	return false
}

// enter returns what becomes of spans that come in by i, if it is the one that holds
// them. It counts the caller, who says when he is done, for stop to see.
func (s *state) enter(i *instance) (sink attribution.Sink, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.instances, i) {
		return sink, false, errStopped
	}
	if s.leader() != i {
		return sink, false, nil
	}
	i.consuming.Add(1)
	if i.out.traces != nil {
		sink.Traces = func(td ptrace.Traces) {
			s.complain("spans", i.send(func(ctx context.Context) error { return i.out.traces.ConsumeTraces(ctx, td) }))
		}
	}
	for _, o := range s.instances {
		sink.Count = sink.Count || o.out.metrics != nil
		if o.out.logs != nil {
			sink.Slow = o.tell
		}
	}
	return sink, true, nil
}

// teller returns the instance by which events of slow spans leave, nil if there is none.
func (s *state) teller() *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.instances {
		if o.out.logs != nil {
			return o
		}
	}
	return nil
}

// complain logs that the next component refused something. It was the last that
// could be done: whoever sent it has long had its answer.
func (s *state) complain(what string, err error) {
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
