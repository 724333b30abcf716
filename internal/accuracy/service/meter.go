package service

import (
	"runtime/metrics"
	"runtime/trace"
	"sync"
	"time"
)

// lookEvery is how exactly the meter knows when tracing begins and ends. Its
// looks cost some hundredths of a percent of a CPU, with otelgc and without.
const lookEvery = 25 * time.Millisecond

// meter adds up what the process uses, apart by whether it is traced.
type meter struct {
	begin  time.Time
	served func() int64

	mu      sync.Mutex
	last    Part
	traced  Part
	tracing bool
	slices  int
	waiting []chan Usage // for the next slice to begin
}

func newMeter(served func() int64) *meter {
	return &meter{begin: time.Now(), served: served}
}

// run looks until quit is closed.
func (m *meter) run(quit <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.look()
		case <-quit:
			return
		}
	}
}

func (m *meter) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := Part{Wall: time.Since(m.begin), CPU: processCPU(), Served: m.served()}
	on := trace.IsEnabled()
	if on && m.tracing {
		m.traced = m.traced.add(now.sub(m.last))
	}
	began := on && !m.tracing
	m.last, m.tracing = now, on
	if !began {
		return
	}
	m.slices++
	for _, w := range m.waiting {
		u := m.usage()
		u.AtSlice = true
		w <- u
	}
	m.waiting = nil
}

// now returns the usage as of now.
func (m *meter) now() Usage {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage()
}

// atSlice returns the usage as of the next begin of a slice, or after limit.
func (m *meter) atSlice(limit time.Duration) Usage {
	c := make(chan Usage, 1)
	m.mu.Lock()
	m.waiting = append(m.waiting, c)
	m.mu.Unlock()
	select {
	case u := <-c:
		return u
	case <-time.After(limit):
		return m.now()
	}
}

// usage is called with m.mu held.
func (m *meter) usage() Usage {
	u := Usage{All: m.last, Traced: m.traced, Slices: m.slices}
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: stoppingMetric}, {Name: stopsMetric}}
	metrics.Read(s)
	u.Cycles = s[0].Value.Uint64()
	u.Stopping = s[1].Value.Float64Histogram().Counts
	u.Stops = s[2].Value.Float64Histogram().Counts
	return u
}

const (
	stoppingMetric = "/sched/pauses/stopping/gc:seconds"
	stopsMetric    = "/sched/pauses/total/gc:seconds"
)

// StopBounds returns the bounds of the buckets of Usage.Stops and
// Usage.Stopping, in seconds: one more than there are buckets, the first and
// the last infinite.
func StopBounds() []float64 {
	s := []metrics.Sample{{Name: stopsMetric}}
	metrics.Read(s)
	return s[0].Value.Float64Histogram().Buckets
}
