package stallconnector

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/otelgc/otelgc/collector/attribution"
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

// sink returns what becomes of spans that come in by i, if it is the one that
// holds them.
func (s *state) sink(i *instance) (sink attribution.Sink, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sinkLocked(i)
}

// enter is sink for a caller that will wait. It counts it, for stop to see.
func (s *state) enter(i *instance) (sink attribution.Sink, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sink, mine = s.sinkLocked(i); mine {
		i.consuming.Add(1)
	}
	return sink, mine
}

func (s *state) sinkLocked(i *instance) (sink attribution.Sink, mine bool) {
	if s.leader() != i {
		return sink, false
	}
	if i.out.traces != nil {
		sink.Traces = func(td ptrace.Traces) { s.complain("spans", i.out.traces.ConsumeTraces(context.Background(), td)) }
	}
	for _, o := range s.instances {
		sink.Count = sink.Count || o.out.metrics != nil
		if logs := o.out.logs; logs != nil {
			sink.Slow = func(ld plog.Logs) { s.complain("events", logs.ConsumeLogs(context.Background(), ld)) }
		}
	}
	return sink, true
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
