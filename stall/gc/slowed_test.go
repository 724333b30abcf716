package gc

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

// paused is a collection with one pause, of which the machine took cpu and page.
func paused(k Kind, promoted Maybe[Bytes], d, cpu, page time.Duration) *Collection {
	p := Pause{Start: 1000, End: stall.Instant(1000).Add(d)}
	if cpu >= 0 {
		p.HostDuring = HostDuring{CPUWait: Known(cpu), PageWait: Known(page)}
	}
	return &Collection{Kind: k, Cycles: 1, Promoted: promoted, Pauses: []Pause{p}}
}

const ms = time.Millisecond

func TestSlowedInWords(t *testing.T) {
	for want, c := range map[string]*Collection{
		"": paused(Background, Maybe[Bytes]{}, 48*ms, 44*ms, 0),
		"stolen CPU: paused 48.0 ms, 12 times the usual for its work, 44.0 ms of it without a CPU": func() *Collection {
			c := paused(Background, Maybe[Bytes]{}, 48*ms, 44*ms, ms)
			c.SlowedBy, c.UsualPause = StolenCPU, Known(4*ms)
			return c
		}(),
		"paging: paused 9.00 ms, 99 times the usual for its work, 8.00 ms of it waiting for pages from disk": func() *Collection {
			c := paused(Background, Maybe[Bytes]{}, 9*ms, 0, 8*ms)
			c.SlowedBy, c.UsualPause = Paging, Known(ms/1000)
			return c
		}(),
	} {
		if diff := cmp.Diff(want, c.Slowed()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
