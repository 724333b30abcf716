package attribution

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestCopies: of two copies of a machine that share a boot id, each process has its
// own pauses and none of the other's, as soon as their clocks have told them apart; and
// spans keep the boot id that they came with.
func TestCopies(t *testing.T) {
	const seconds, settled = 60, senders.BelieveAfter + 10
	for _, apart := range []int64{30, 600, 7200} {
		one, two, a, c := newSender(), newSender(), New(Config{}), new(catcher)
		one.with = m{"host.id": "a", "process.creation.time": "2026-11-21T10:00:00.25Z", "service.instance.id": "x"}
		two.with = m{"host.id": "b", "process.creation.time": "2026-11-21T10:00:00.25Z", "service.instance.id": "x"}
		two.off = offset - apart*sec // it was resumed earlier: it is as late, and has been up for longer
		for i := range int64(seconds) {
			a.Tick(start.Add(time.Duration(i) * time.Second))
			at := 100*sec + i*sec
			a.Learn(one.collection(stall.GCWatch, i+1, at+12*ms, at+15*ms, 0))
			a.Learn(two.collection(stall.GCWatch, i+1, at+apart*sec+16*ms, at+apart*sec+18*ms, 0))
			a.Learn(two.gap(stall.ProbePeriodic, stall.HostSteal, stall.ScopeMachine, at+apart*sec+19*ms, at+apart*sec+20*ms))
			for _, s := range []stall.Origin{stall.GCWatch, stall.ProbePeriodic} {
				a.Learn(one.status(s, at+900*ms))
				a.Learn(two.status(s, at+apart*sec+900*ms))
			}
			if i < settled {
				continue
			}
			before := len(c.spans)
			a.Hold(one.span(at+10*ms, at+21*ms), c.sink(), start.Add(time.Duration(i)*time.Second))
			a.Tick(start.Add(time.Duration(i) * time.Second))
			a.Hold(two.span(at+apart*sec+10*ms, at+apart*sec+21*ms), c.sink(), start.Add(time.Duration(i)*time.Second))
			a.Tick(start.Add(time.Duration(i) * time.Second))
			if len(c.spans) != before+2 {
				t.Fatalf("%d s apart: spans wait although their sources have told", apart)
			}
			for n, want := range []m{{"otelgc.stall.gc.pause": "3ms"}, {"otelgc.stall.gc.pause": "2ms", "otelgc.stall.host.steal": "1ms"}} {
				attrs := c.spans[before+n].Attributes()
				got := floats(attrs)
				for _, k := range []string{"otelgc.stall.gc.pause", "otelgc.stall.host.steal"} {
					d, _ := time.ParseDuration(want[k] + "0s")
					if diff := got[k] - d.Seconds(); diff > 2e-6 || diff < -2e-6 || got[semconv.AttrCoverage] != 1 {
						t.Fatalf("%d s apart, span %d: %v, want %s of %v", apart, n, attrs.AsRaw(), k, d)
					}
				}
			}
		}
	}
}

// TestNoCopies: a host id of its own in a container, a clock that is set, and one
// sender with a wrong clock make no copies.
func TestNoCopies(t *testing.T) {
	for name, x := range map[string]struct {
		other m     // names of another process
		off   int64 // of its clock
		set   int64 // by how much all clocks are set in the midst
	}{
		"an image with a host id": {m{"host.id": "image"}, 0, 0},
		"a clock that is set":     {m{"host.id": "image"}, 0, 100 * sec},
		"a wrong clock":           {nil, 40 * sec, 0},
	} {
		s, other, a := newSender(), newSender(), New(Config{})
		s.with = m{"host.id": "machine"}
		other.pid, other.with, other.off = 43, x.other, other.off+x.off
		for i := range int64(60) {
			if i == 30 {
				s.off += x.set
				other.off += x.set
			}
			a.Tick(start.Add(time.Duration(i) * time.Second))
			a.Learn(s.status(stall.GCWatch, 100*sec+i*sec))
			a.Learn(other.status(stall.GCWatch, 100*sec+i*sec))
		}
		if len(a.known.hosts) != 1 || a.Lost().HostsForgotten != 0 {
			t.Errorf("%s: %d hosts, %d forgotten; want one and none", name, len(a.known.hosts), a.Lost().HostsForgotten)
		}
	}
}

// TestManyCopies: however many boot ids are shared, few are known to be.
func TestManyCopies(t *testing.T) {
	a := New(Config{})
	for i := range 2 * mostCopied {
		boot := time.Duration(i).String()
		h := a.known.host(boot)
		a.known.split(h)
	}
	if got := len(a.known.copied); got != mostCopied {
		t.Errorf("%d boot ids, want %d", got, mostCopied)
	}
}
