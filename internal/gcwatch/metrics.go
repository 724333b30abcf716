package gcwatch

import (
	"fmt"
	"math"
	"runtime/metrics"
	"time"

	"github.com/otelgc/otelgc/stall"
)

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
