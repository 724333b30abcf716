package telemetry

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// maxSeries bounds the attribute sets that are kept ready for one instrument;
// over it they are made for each value. In practice the longest lists are those
// of causes by fidelity and route, and of gaps by CPU for who asks for that; what
// goes out is bounded by [maxWords], and by the number of CPUs.
const maxSeries = 4096

// series keeps the attribute sets of an instrument ready, so that recording
// allocates nothing. K is what tells them apart.
type series[K comparable] struct {
	attributes func(K) []attribute.KeyValue
	words      words
	mu         sync.RWMutex
	ready      map[K]*readySet
}

type readySet struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

func newSeries[K comparable](attributes func(K) []attribute.KeyValue) *series[K] {
	return &series[K]{attributes: attributes, ready: make(map[K]*readySet)}
}

func (s *series[K]) get(k K) *readySet {
	s.mu.RLock()
	r := s.ready[k]
	s.mu.RUnlock()
	if r != nil {
		return r
	}
	option := metric.WithAttributeSet(attribute.NewSet(s.words.bound(s.attributes(k))...))
	r = &readySet{record: []metric.RecordOption{option}, add: []metric.AddOption{option}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) < maxSeries {
		s.ready[k] = r
	}
	return r
}

// record returns the options of k for a histogram or a gauge.
func (s *series[K]) record(k K) []metric.RecordOption { return s.get(k).record }

// add returns the options of k for a counter.
func (s *series[K]) add(k K) []metric.AddOption { return s.get(k).add }
