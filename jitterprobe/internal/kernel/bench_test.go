package kernel

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

// BenchmarkGap takes the records of a gap in, a tick with its softirq, and says
// where its time went, in reads of a hundred gaps.
func BenchmarkGap(b *testing.B) {
	const every = stall.Instant(500 * time.Microsecond)
	v := newView()
	vec := binary.LittleEndian.AppendUint32(make([]byte, 8), 1)
	first := t0 + every
	now := first
	b.ReportAllocs()
	for n := 1; b.Loop(); n++ {
		for i, event := range [...]uint64{timerIn, softIn, softOut, timerOut} {
			v.cpu.take(&perf.Record{Kind: perf.Sample, At: now + stall.Instant(i)*us, Event: event, Raw: vec})
		}
		now += every
		if n%100 != 0 {
			continue
		}
		for ; first < now; first += every {
			if a := v.Account(stall.Span{Start: first - us, End: first + 4*us}); a.Interrupts != 1 || !a.CPU {
				b.Fatalf("account %+v: want one interrupt, and no record missing", a)
			}
		}
		v.Forget(now)
	}
}
