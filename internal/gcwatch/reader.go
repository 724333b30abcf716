package gcwatch

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// ringSize is the number of cycles of which the runtime keeps the pauses
// (len of runtime.MemStats.PauseNs).
const ringSize = 256

// maxReadings bounds how often a reading is repeated because a cycle or a stop
// ended in the midst of it. What remains open after that waits for the next.
const maxReadings = 4

// reading is what the runtime says at one moment.
type reading struct {
	// Everything that stopped the process before begin is in the reading;
	// nothing in it is later than end.
	begin, end                                     stall.Instant
	cycles, forced                                 uint32 // the runtime's counters, which wrap
	gcTotal, gcStopping, otherTotal, otherStopping counts
	live, goal, allocBytes                         gc.Bytes
	cpu                                            CPUTotals
	pauseTotal                                     time.Duration
	coherent, gcSettled, otherSettled              bool // see reader.once
}

// reader takes readings with memory of its own.
type reader struct {
	now     func() stall.Instant
	readGC  func(*debug.GCStats)
	wall    wallHistory
	samples []metrics.Sample
	stats   debug.GCStats
	// later is the number of cycles at the head of stats that ended after the
	// metrics were read: they belong to the next reading.
	later int
}

func newReader(clock stall.Clock) (*reader, error) {
	samples, err := newSamples()
	if err != nil {
		return nil, err
	}
	r := &reader{now: clock.Now, readGC: debug.ReadGCStats, samples: samples}
	r.wall.measure = clock.Wall
	// ReadGCStats allocates unless there is room for two rings and three more.
	r.stats.Pause = make([]time.Duration, 0, 2*ringSize+3)
	r.stats.PauseEnd = make([]time.Time, 0, ringSize)
	return r, nil
}

// read fills to. It tries again while something ends under its hands, so that
// nearly every reading is coherent and settled.
func (r *reader) read(to *reading) {
	r.wall.next()
	for range maxReadings {
		r.once(to)
		if to.coherent && to.gcSettled && to.otherSettled {
			return
		}
	}
}

// once takes one reading. It is
//   - coherent if no cycle ended in its midst, so that what the runtime keeps
//     of the newest cycle only is of the newest cycle counted;
//   - settled if no stop's length was missing: the runtime counts a stop as
//     begun while the world is stopped, but as over only after the restart.
func (r *reader) once(to *reading) {
	to.begin = r.now()
	// A stop that is being prepared lets this goroutine run on for a while, so
	// that it could have begun before begin and be counted after the metrics
	// are read. Yielding takes sched.lock and goes through schedule(), which
	// does not come back before such a stop is over and counted.
	runtime.Gosched()
	r.wall.begin()
	metrics.Read(r.samples)
	r.readGC(&r.stats)
	r.wall.end()
	to.end = r.now()

	s := r.samples
	to.cycles = uint32(s[sampleCycles].Value.Uint64())
	to.forced = uint32(s[sampleForced].Value.Uint64())
	to.gcTotal.set(s[sampleGCTotal].Value.Float64Histogram().Counts)
	to.otherTotal.set(s[sampleOtherTotal].Value.Float64Histogram().Counts)
	to.gcStopping.set(s[sampleGCStopping].Value.Float64Histogram().Counts)
	to.otherStopping.set(s[sampleOtherStopping].Value.Float64Histogram().Counts)
	to.live = gc.Bytes(s[sampleLive].Value.Uint64())
	to.goal = gc.Bytes(s[sampleGoal].Value.Uint64())
	to.allocBytes = gc.Bytes(s[sampleAllocBytes].Value.Uint64())
	r.readCPU(&to.cpu)

	r.later = int(uint32(r.stats.NumGC) - to.cycles)
	to.pauseTotal = r.stats.PauseTotal
	for _, d := range r.stats.Pause[:min(r.later, len(r.stats.Pause))] {
		to.pauseTotal -= d
	}
	to.coherent = r.later == 0
	to.gcSettled = to.gcTotal.total == to.gcStopping.total
	to.otherSettled = to.otherTotal.total == to.otherStopping.total
}

func (r *reader) readCPU(to *CPUTotals) {
	s := r.samples
	to.GCAssist = seconds(&s[sampleCPUAssist])
	to.GCDedicated = seconds(&s[sampleCPUDedicated])
	to.GCIdle = seconds(&s[sampleCPUIdleMark])
	to.GCPause = seconds(&s[sampleCPUPause])
	to.GC = seconds(&s[sampleCPUGC])
	to.User = seconds(&s[sampleCPUUser])
	to.Idle = seconds(&s[sampleCPUIdle])
	to.ScavengeAssist = seconds(&s[sampleCPUScavengeAssist])
	to.ScavengeBackground = seconds(&s[sampleCPUScavengeBackground])
}

// edges returns the buckets of the runtime's pause histograms, which share
// their bounds.
func (r *reader) edges() []Bucket {
	return newEdges(r.samples[sampleGCTotal].Value.Float64Histogram().Buckets)
}

// copyTo copies a reading without sharing memory.
func (g *reading) copyTo(to *reading) {
	a, b, c, d := to.gcTotal.of, to.gcStopping.of, to.otherTotal.of, to.otherStopping.of
	*to = *g
	to.gcTotal.of = append(a[:0], g.gcTotal.of...)
	to.gcStopping.of = append(b[:0], g.gcStopping.of...)
	to.otherTotal.of = append(c[:0], g.otherTotal.of...)
	to.otherStopping.of = append(d[:0], g.otherStopping.of...)
}

// The samples of one reading. The order matters: the count of cycles comes
// first, so that every cycle it counts is in everything read after it; and the
// stops that are over come before the stops that began, so that their counts
// agree only if no stop was under way.
const (
	sampleCycles = iota
	sampleForced
	sampleGCTotal
	sampleOtherTotal
	sampleGCStopping
	sampleOtherStopping
	sampleLive
	sampleGoal
	sampleAllocBytes
	sampleCPUAssist
	sampleCPUDedicated
	sampleCPUIdleMark
	sampleCPUPause
	sampleCPUGC
	sampleCPUUser
	sampleCPUIdle
	sampleCPUScavengeAssist
	sampleCPUScavengeBackground
	numSamples
)

var sampleNames = [numSamples]string{
	sampleCycles:                "/gc/cycles/total:gc-cycles",
	sampleForced:                "/gc/cycles/forced:gc-cycles",
	sampleGCTotal:               "/sched/pauses/total/gc:seconds",
	sampleOtherTotal:            "/sched/pauses/total/other:seconds",
	sampleGCStopping:            "/sched/pauses/stopping/gc:seconds",
	sampleOtherStopping:         "/sched/pauses/stopping/other:seconds",
	sampleLive:                  "/gc/heap/live:bytes",
	sampleGoal:                  "/gc/heap/goal:bytes",
	sampleAllocBytes:            "/gc/heap/allocs:bytes",
	sampleCPUAssist:             "/cpu/classes/gc/mark/assist:cpu-seconds",
	sampleCPUDedicated:          "/cpu/classes/gc/mark/dedicated:cpu-seconds",
	sampleCPUIdleMark:           "/cpu/classes/gc/mark/idle:cpu-seconds",
	sampleCPUPause:              "/cpu/classes/gc/pause:cpu-seconds",
	sampleCPUGC:                 "/cpu/classes/gc/total:cpu-seconds",
	sampleCPUUser:               "/cpu/classes/user:cpu-seconds",
	sampleCPUIdle:               "/cpu/classes/idle:cpu-seconds",
	sampleCPUScavengeAssist:     "/cpu/classes/scavenge/assist:cpu-seconds",
	sampleCPUScavengeBackground: "/cpu/classes/scavenge/background:cpu-seconds",
}

// newSamples prepares the memory of all readings and checks that this runtime
// has every metric.
func newSamples() ([]metrics.Sample, error) {
	s := make([]metrics.Sample, numSamples)
	for i := range s {
		s[i].Name = sampleNames[i]
	}
	metrics.Read(s)
	for i := range s {
		want := metrics.KindUint64
		switch {
		case i >= sampleGCTotal && i <= sampleOtherStopping:
			want = metrics.KindFloat64Histogram
		case i >= sampleCPUAssist:
			want = metrics.KindFloat64
		}
		if s[i].Value.Kind() != want {
			return nil, fmt.Errorf("read runtime metric %s: %w by this runtime", s[i].Name, stall.ErrNotSupported)
		}
	}
	return s, nil
}

// seconds converts a sample of CPU seconds. The runtime counts nanoseconds and
// divides, so rounding gives them back.
func seconds(s *metrics.Sample) time.Duration {
	return time.Duration(math.Round(s.Value.Float64() * 1e9))
}

// Bucket is the part of a pause histogram's difference that one bucket of the
// runtime holds.
type Bucket struct {
	Low, High time.Duration // Low <= duration < High; High is maxDuration in the last bucket
	Middle    float64       // geometric middle, seconds; see newEdges for the outer buckets
	Count     uint64        // pauses in it, above zero
}

const maxDuration = time.Duration(math.MaxInt64)

// newEdges converts the bounds of a runtime histogram, n+1 seconds for n
// buckets, once. Bounds that have no geometric middle take what is left: the
// first bucket (negative durations, where a clock misbehaved) counts as zero,
// the one that begins at zero as half its width, the last as its lower bound.
func newEdges(bounds []float64) []Bucket {
	edges := make([]Bucket, len(bounds)-1)
	for i := range edges {
		low, high := bounds[i], bounds[i+1]
		e := &edges[i]
		e.Low, e.High = nanos(low), nanos(high)
		switch {
		case high <= 0:
			e.Middle = 0
		case low <= 0:
			e.Middle = high / 2
		case math.IsInf(high, 1):
			e.Middle = low
		default:
			e.Middle = math.Sqrt(low * high)
		}
	}
	return edges
}

func nanos(seconds float64) time.Duration {
	switch ns := math.Round(seconds * 1e9); {
	case ns <= 0:
		return 0
	case ns >= math.MaxInt64:
		return maxDuration
	default:
		return time.Duration(ns)
	}
}

// counts is one reading of a histogram.
type counts struct {
	of    []uint64
	total uint64
}

func (c *counts) set(from []uint64) {
	c.of = append(c.of[:0], from...)
	c.total = 0
	for _, n := range from {
		c.total += n
	}
}

// since appends the buckets that grew from old to c.
func (c *counts) since(old *counts, edges, to []Bucket) []Bucket {
	if c.total == old.total {
		return to
	}
	for i, n := range c.of {
		if d := n - old.of[i]; d != 0 {
			b := edges[i]
			b.Count = d
			to = append(to, b)
		}
	}
	return to
}
