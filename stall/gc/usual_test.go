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

func TestUsual(t *testing.T) {
	size := func(mb Bytes) Maybe[Bytes] { return Known(mb << 20) }
	for _, test := range []struct {
		name   string
		usual  *Collection // told so often
		times  int
		judged *Collection
		want   SlowedBy
		known  time.Duration // the usual, -1 for not known
	}{
		{"without a CPU", paused(Background, size(1), ms, 0, 0), 20, paused(Background, size(1), 10*ms, 8*ms, 0), StolenCPU, ms},
		{"pages from disk", paused(Background, size(1), ms, 0, 0), 20, paused(Background, size(1), 10*ms, ms, 5*ms), Paging, ms},
		{"nobody knows what of", paused(Background, size(1), ms, 0, 0), 20, paused(Background, size(1), 10*ms, -1, 0), NotSlowed, ms},
		{"most of it was the collector's", paused(Background, size(1), ms, 0, 0), 20, paused(Background, size(1), 10*ms, 4*ms, 0), NotSlowed, ms},
		{"half of what is over the usual", paused(Background, size(1), 2*ms, 0, 0), 20, paused(Background, size(1), 10*ms, 4*ms, 0), StolenCPU, 2 * ms},
		{"not long", paused(Background, size(1), ms, 0, 0), 20, paused(Background, size(1), 19*ms/10, 18*ms/10, 0), NotSlowed, ms},
		{"too few to tell", paused(Background, size(1), ms, 0, 0), usualFrom - 1, paused(Background, size(1), 10*ms, 10*ms, 0), NotSlowed, -1},
		{"just enough to tell", paused(Background, size(1), ms, 0, 0), usualFrom, paused(Background, size(1), 10*ms, 10*ms, 0), StolenCPU, ms},
		{"of another kind", paused(Background, size(1), ms, 0, 0), 20, paused(Ephemeral, size(1), 10*ms, 10*ms, 0), NotSlowed, -1},
		{"ten times the work", paused(Ephemeral, size(1), 2*ms, 0, 0), 20, paused(Ephemeral, size(19), 20*ms, 18*ms, 0), NotSlowed, 20 * ms},
		{"a tenth of the work", paused(Ephemeral, size(19), 20*ms, 0, 0), 20, paused(Ephemeral, size(1), 20*ms, 18*ms, 0), StolenCPU, 2 * ms},
		{"work that is not known", paused(Ephemeral, size(1), ms, 0, 0), 20, paused(Ephemeral, Maybe[Bytes]{}, 10*ms, 10*ms, 0), NotSlowed, -1},
		{"what was taken is not usual", paused(Background, size(1), 8*ms, 7*ms, 0), 20, paused(Background, size(1), 8*ms, 7*ms, 0), StolenCPU, ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			var u Usual
			for range test.times {
				c := *test.usual
				u.Judge(&c)
			}
			u.Judge(test.judged)
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
			u.Judge(paused(Background, Maybe[Bytes]{}, d, 0, 0))
		}
	}
	c := paused(Background, Maybe[Bytes]{}, 6*ms, 5*ms, 0)
	if u.Judge(c); c.UsualPause.Or(0) != 5*ms || c.SlowedBy != NotSlowed {
		t.Errorf("usual %v, slowed by %v, want 5ms, none", c.UsualPause.Or(0), c.SlowedBy)
	}
}

// TestUsualOfHalfARecord: what lacks a part, or stands for several, is neither
// judged nor counted.
func TestUsualOfHalfARecord(t *testing.T) {
	var u Usual
	for name, spoil := range map[string]func(*Collection){
		"incomplete": func(c *Collection) { c.Incomplete = "half" },
		"several":    func(c *Collection) { c.Cycles = 3 },
		"no pause":   func(c *Collection) { c.Pauses = nil },
		"no kind":    func(c *Collection) { c.Kind = NoKind },
		"bad kind":   func(c *Collection) { c.Kind = NumKinds + 1 },
	} {
		for range usualFrom {
			c := paused(Background, Maybe[Bytes]{}, ms, 0, 0)
			spoil(c)
			u.Judge(c)
		}
		c := paused(Background, Maybe[Bytes]{}, 10*ms, 10*ms, 0)
		if (&u).kinds[Background].seen != 0 {
			t.Errorf("%s: counted", name)
		}
		if spoil(c); c.SlowedBy != NotSlowed {
			t.Errorf("%s: slowed by %v", name, c.SlowedBy)
		}
	}
}

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
