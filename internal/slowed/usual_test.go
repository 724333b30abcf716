package slowed

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// paused is a collection with one pause, of which the machine took cpu and page.
func paused(k gc.Kind, promoted gc.Maybe[gc.Bytes], d, cpu, page time.Duration) *gc.Collection {
	p := gc.Pause{Start: 1000, End: stall.Instant(1000).Add(d)}
	if cpu >= 0 {
		p.HostDuring = gc.HostDuring{CPUWait: gc.Known(cpu), PageWait: gc.Known(page)}
	}
	return &gc.Collection{Kind: k, Cycles: 1, Promoted: promoted, Pauses: []gc.Pause{p}}
}

const ms = time.Millisecond

func TestUsual(t *testing.T) {
	size := func(mb gc.Bytes) gc.Maybe[gc.Bytes] { return gc.Known(mb << 20) }
	for _, test := range []struct {
		name   string
		usual  *gc.Collection // told so often
		times  int
		judged *gc.Collection
		want   gc.SlowedBy
		known  time.Duration // the usual, -1 for not known
	}{
		{"without a CPU", paused(gc.Background, size(1), ms, 0, 0), 20, paused(gc.Background, size(1), 10*ms, 8*ms, 0), gc.StolenCPU, ms},
		{"pages from disk", paused(gc.Background, size(1), ms, 0, 0), 20, paused(gc.Background, size(1), 10*ms, ms, 5*ms), gc.Paging, ms},
		{"nobody knows what of", paused(gc.Background, size(1), ms, 0, 0), 20, paused(gc.Background, size(1), 10*ms, -1, 0), gc.NotSlowed, ms},
		{"most of it was the collector's", paused(gc.Background, size(1), ms, 0, 0), 20, paused(gc.Background, size(1), 10*ms, 4*ms, 0), gc.NotSlowed, ms},
		{"half of what is over the usual", paused(gc.Background, size(1), 2*ms, 0, 0), 20, paused(gc.Background, size(1), 10*ms, 4*ms, 0), gc.StolenCPU, 2 * ms},
		{"not long", paused(gc.Background, size(1), ms, 0, 0), 20, paused(gc.Background, size(1), 19*ms/10, 18*ms/10, 0), gc.NotSlowed, ms},
		{"too few to tell", paused(gc.Background, size(1), ms, 0, 0), usualFrom - 1, paused(gc.Background, size(1), 10*ms, 10*ms, 0), gc.NotSlowed, -1},
		{"just enough to tell", paused(gc.Background, size(1), ms, 0, 0), usualFrom, paused(gc.Background, size(1), 10*ms, 10*ms, 0), gc.StolenCPU, ms},
		{"of another kind", paused(gc.Background, size(1), ms, 0, 0), 20, paused(gc.Ephemeral, size(1), 10*ms, 10*ms, 0), gc.NotSlowed, -1},
		{"ten times the work", paused(gc.Ephemeral, size(1), 2*ms, 0, 0), 20, paused(gc.Ephemeral, size(19), 20*ms, 18*ms, 0), gc.NotSlowed, 20 * ms},
		{"a tenth of the work", paused(gc.Ephemeral, size(19), 20*ms, 0, 0), 20, paused(gc.Ephemeral, size(1), 20*ms, 18*ms, 0), gc.StolenCPU, 2 * ms},
		{"work that is not known", paused(gc.Ephemeral, size(1), ms, 0, 0), 20, paused(gc.Ephemeral, gc.Maybe[gc.Bytes]{}, 10*ms, 10*ms, 0), gc.NotSlowed, -1},
		{"what was taken is not usual", paused(gc.Background, size(1), 8*ms, 7*ms, 0), 20, paused(gc.Background, size(1), 8*ms, 7*ms, 0), gc.StolenCPU, ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			var u Usual
			for range test.times {
				c := *test.usual
				u.Classify(&c)
			}
			u.Classify(test.judged)
			if got := test.judged.SlowedBy; got != test.want {
				t.Errorf("slowed by: got %v, want %v", got, test.want)
			}
			if got := test.judged.UsualPause.Or(-1); got != test.known {
				t.Errorf("the usual: got %v, want %v", got, test.known)
			}
		})
	}
}

// TestUsualForgets: a heap that grew makes new lengths the usual ones.
func TestUsualForgets(t *testing.T) {
	var u Usual
	for _, d := range []time.Duration{ms, 5 * ms} {
		for range usualOf {
			u.Classify(paused(gc.Background, gc.Maybe[gc.Bytes]{}, d, 0, 0))
		}
	}
	c := paused(gc.Background, gc.Maybe[gc.Bytes]{}, 6*ms, 5*ms, 0)
	if u.Classify(c); c.UsualPause.Or(0) != 5*ms || c.SlowedBy != gc.NotSlowed {
		t.Errorf("usual %v, slowed by %v, want 5ms, none", c.UsualPause.Or(0), c.SlowedBy)
	}
}

// TestUsualOfHalfARecord: what lacks a part, or stands for several, is neither
// judged nor counted.
func TestUsualOfHalfARecord(t *testing.T) {
	var u Usual
	for name, spoil := range map[string]func(*gc.Collection){
		"incomplete": func(c *gc.Collection) { c.Incomplete = "half" },
		"several":    func(c *gc.Collection) { c.Cycles = 3 },
		"no pause":   func(c *gc.Collection) { c.Pauses = nil },
		"no kind":    func(c *gc.Collection) { c.Kind = gc.NoKind },
		"bad kind":   func(c *gc.Collection) { c.Kind = gc.NumKinds + 1 },
	} {
		for range usualFrom {
			c := paused(gc.Background, gc.Maybe[gc.Bytes]{}, ms, 0, 0)
			spoil(c)
			u.Classify(c)
		}
		c := paused(gc.Background, gc.Maybe[gc.Bytes]{}, 10*ms, 10*ms, 0)
		if (&u).kinds[gc.Background].seen != 0 {
			t.Errorf("%s: counted", name)
		}
		if spoil(c); c.SlowedBy != gc.NotSlowed {
			t.Errorf("%s: slowed by %v", name, c.SlowedBy)
		}
	}
}
