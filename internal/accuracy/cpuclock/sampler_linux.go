package cpuclock

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/accuracy/perfring"
	"github.com/otelgc/otelgc/stall"
)

// pages is room for a minute of samples, one a millisecond.
const pages = 256

// Sampler interrupts one CPU by a timer of its own. It is for one goroutine.
type Sampler struct{ ring *perfring.Ring }

// Open begins to sample a CPU once in every. It needs CAP_PERFMON.
func Open(cpu int, every time.Duration) (*Sampler, error) {
	r, err := perfring.Open(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Sample: uint64(every), Sample_type: unix.PERF_SAMPLE_TIME,
	}, -1, cpu, pages)
	if err != nil {
		return nil, fmt.Errorf("sample CPU %d: %w", cpu, err)
	}
	return &Sampler{r}, nil
}

// Read returns the samples since the last call, in order. Those for which there
// was no room are not among them.
func (s *Sampler) Read() (list []stall.Instant) {
	s.ring.Read(func(body []byte) {
		if len(body) >= 8 {
			list = append(list, stall.Instant(binary.LittleEndian.Uint64(body)))
		}
	})
	return list
}

// Close ends the sampling.
func (s *Sampler) Close() error { return s.ring.Close() }
