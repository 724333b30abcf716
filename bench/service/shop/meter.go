package shop

import (
	"runtime/metrics"
	"runtime/trace"
	"sync"
	"syscall"
	"time"
)

// Part is what the process did in some time.
type Part struct {
	Wall   time.Duration
	CPU    time.Duration // user and system time of the process (getrusage)
	Served int64         // requests
}

// PerRequest returns the CPU time of one request in microseconds; zero if none was
// served.
func (p Part) PerRequest() float64 { return 1e6 * p.CPU.Seconds() / float64(max(1, p.Served)) }

// Rate returns the requests per second.
func (p Part) Rate() float64 { return float64(p.Served) / p.Wall.Seconds() }

// plus returns p with q added so many times.
func (p Part) plus(q Part, times int64) Part {
	return Part{p.Wall + time.Duration(times)*q.Wall, p.CPU + time.Duration(times)*q.CPU, p.Served + times*q.Served}
}

// Usage is what the process did since its start.
type Usage struct {
	Part
	Traced  Part          // what of it was done while the process was traced
	Cycles  uint64        // garbage collections
	AtSlice bool          // a tracing slice began when it was read
	Slices  int64         // that began
	Age     time.Duration // since the last of them began
}

// Plus returns u with v added so many times; the age remains that of u.
func (u Usage) Plus(v Usage, times int64) Usage {
	u.Part, u.Traced = u.Part.plus(v.Part, times), u.Traced.plus(v.Traced, times)
	u.Cycles += uint64(times) * v.Cycles
	u.Slices += times * v.Slices
	u.AtSlice = u.AtSlice && v.AtSlice
	return u
}

// TracedPart returns the fraction of the time that was traced.
func (u Usage) TracedPart() float64 { return u.Traced.Wall.Seconds() / u.Wall.Seconds() }

// CycleRate returns the garbage collections per second.
func (u Usage) CycleRate() float64 { return float64(u.Cycles) / u.Wall.Seconds() }

// lookEvery is how precisely the meter knows when tracing begins and ends. Its
// looks cost some hundredths of a percent of a CPU, with otelgc and without.
const lookEvery = 25 * time.Millisecond

// meter adds up what the process uses, and what of it while it is traced.
type meter struct {
	begin  time.Time
	served func() int64

	mu      sync.Mutex
	last    Part
	traced  Part
	tracing bool
	slices  int64
	latest  time.Duration // when the last of them began
	waiting []chan Usage  // for the next slice to begin
}

// look reads the usage every lookEvery until quit is closed.
func (m *meter) look(quit <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.now()
		case <-quit:
			return
		}
	}
}

// now returns the usage up to now.
func (m *meter) now() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // it has no way to fail
	now := Part{time.Since(m.begin), time.Duration(r.Utime.Nano() + r.Stime.Nano()), m.served()}
	on := trace.IsEnabled()
	if on && m.tracing {
		m.traced = m.traced.plus(now, 1).plus(m.last, -1)
	}
	began := on && !m.tracing
	if began {
		m.slices, m.latest = m.slices+1, now.Wall
	}
	m.last, m.tracing = now, on
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	u := Usage{Part: now, Traced: m.traced, Cycles: s[0].Value.Uint64(), AtSlice: began, Slices: m.slices, Age: now.Wall - m.latest}
	if began {
		for _, w := range m.waiting {
			w <- u
		}
		m.waiting = nil
	}
	return u
}

// atSlice returns the usage when the next slice begins, or after limit.
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
