package jitterprobe

import (
	"runtime"
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/spin"

	"github.com/otelgc/otelgc/stall"
)

// needSpin skips where a spinning mode cannot run at all.
func needSpin(t *testing.T) {
	t.Helper()
	if !spin.Supported {
		t.Skip("this build has no assembly for the machine")
	}
	if err := spin.Usable("/"); err != nil {
		t.Skipf("spinning needs a counter: %v", err)
	}
}

// followed is a probe whose gaps go to functions of a test.
type followed struct {
	*Probe
	done chan struct{}
}

// Stop returns when the functions have had all gaps.
func (f *followed) Stop() Summary {
	s := f.Probe.Stop()
	<-f.done
	return s
}

func start(t *testing.T, o Options, each ...func(Gap)) *followed {
	t.Helper()
	p, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return follow(t, p, each...)
}

func follow(t *testing.T, p *Probe, each ...func(Gap)) *followed {
	f := &followed{p, make(chan struct{})}
	go func() {
		defer close(f.done)
		for g := range p.All() {
			for _, do := range each {
				do(g)
			}
		}
	}()
	t.Cleanup(func() { f.Stop() })
	return f
}

// within waits for what a machine of any speed does some day.
func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 3000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: did not happen", what)
}

var spinning = []Mode{Spin, Runtime}

func TestGapsAreOrderedAndWithinTheRun(t *testing.T) {
	for _, mode := range []Mode{Spin, Runtime, Periodic} {
		t.Run(mode.String(), func(t *testing.T) {
			needSpin(t)
			clock, err := stall.NewClock()
			if err != nil {
				t.Fatal(err)
			}
			var gaps []Gap
			before := clock.Now()
			o := Options{Mode: mode, Force: true, Clock: clock, Threshold: time.Microsecond}
			p := start(t, o, func(g Gap) { gaps = append(gaps, g) })
			within(t, "ten gaps", func() bool { return p.Snapshot().Gaps >= 10 })
			s := p.Stop()
			after := clock.Now()
			if uint64(len(gaps)) != s.Gaps {
				t.Errorf("told of %d gaps, counted %d", len(gaps), s.Gaps)
			}
			last := before
			for _, g := range gaps {
				if g.Start.Add(g.Slack) < last || g.End <= g.Start || g.End.Add(-g.Slack) > after {
					t.Fatalf("gap %+v: not after %d, or not before %d", g, last, after)
				}
				if g.Slack <= 0 || g.Origin != mode.Source() || int(g.CPU) != p.CPU() {
					t.Errorf("gap %+v of probe %v on CPU %d", g, mode, p.CPU())
				}
				last = g.End.Add(-g.Slack)
			}
			if s.Start < before || s.Watermark > after || s.Observed() <= 0 {
				t.Errorf("observed from %d to %d, ran from %d to %d", s.Start, s.Watermark, before, after)
			}
			if g := s.Longest; g.Duration() <= 0 {
				t.Errorf("longest gap: got %+v", g)
			}
		})
	}
}

// The bound is on arithmetic: what a look costs is taken from the blocks
// without a gap, so a slow machine has slow looks on both sides.
func TestLooksAndGapsMakeUpTheTime(t *testing.T) {
	for _, mode := range spinning {
		t.Run(mode.String(), func(t *testing.T) {
			needSpin(t)
			p := start(t, Options{Mode: mode, Force: true})
			within(t, "100 ms", func() bool { s := p.Snapshot(); return s.Observed() > 100*time.Millisecond && s.Loop > 0 })
			s := p.Stop()
			if s.Balance < 0.9 || s.Balance > 1.1 {
				t.Errorf("balance of looks and gaps: got %.4f, want about 1", s.Balance)
			}
			if s.Dropped != 0 || s.Covered() != 1 {
				t.Errorf("dropped %d, covered %v; want 0, 1", s.Dropped, s.Covered())
			}
		})
	}
}

// With a threshold below the cost of one look everything is a gap, and no ring
// is large enough.
func TestFullRingDropsAndCounts(t *testing.T) {
	for _, mode := range spinning {
		t.Run(mode.String(), func(t *testing.T) {
			needSpin(t)
			p := start(t, Options{Mode: mode, Force: true, Threshold: 1})
			within(t, "drops in two drains", func() bool { return p.Snapshot().Dropped > 1000 })
			between := p.Snapshot()
			within(t, "gaps after drops", func() bool { return p.Snapshot().Gaps > between.Gaps })
			s := p.Stop()
			if s.DroppedTime <= 0 || s.DroppedMax <= 0 || s.DroppedMax > s.DroppedTime {
				t.Errorf("dropped %v in all, longest %v", s.DroppedTime, s.DroppedMax)
			}
			// One gap that was kept may be nearly all of the time: the machine may take
			// the CPU away just when there is room. The rest was looked at in vain.
			rest := s.Observed() - s.GapTime
			if s.DroppedTime < rest/10 || s.DroppedTime > rest+rest/10 {
				t.Errorf("dropped: got %v in %d gaps, of %v without a gap that was kept", s.DroppedTime, s.Dropped, rest)
			}
			if c := s.Covered(); c < 0 || c >= 1 {
				t.Errorf("covered: got %v with %d gaps dropped", c, s.Dropped)
			}
		})
	}
}

// Two threads that want one CPU take turns of milliseconds.
func TestAnotherThreadOnTheCPUIsSeen(t *testing.T) {
	needSpin(t)
	p := start(t, Options{Mode: Spin, Force: true})
	if runtime.NumCPU() == 1 {
		t.Skip("one CPU: the competitor would keep the test itself from running")
	}
	stop := compete(t, p.CPU())
	within(t, "gaps of a millisecond", func() bool { return p.Snapshot().Counts[4].N >= 3 })
	stop()
	if s := p.Stop(); !s.Longest.Cause.IsHost() {
		t.Errorf("cause: got %v", s.Longest.Cause)
	}
}

func TestRuntimeModeSeesTheWorldStop(t *testing.T) {
	needSpin(t)
	var own, runtimes int
	p := start(t, Options{Mode: Runtime, Force: true}, func(g Gap) {
		own++
		if !g.Runtime {
			return
		}
		runtimes++
		if g.Cause != stall.RuntimeUnknown || g.Scope != stall.ScopeProcess {
			t.Errorf("gap of the runtime: got cause %v, scope %v", g.Cause, g.Scope)
		}
	})
	var mem runtime.MemStats
	for range 200 {
		runtime.ReadMemStats(&mem) // stops the world
		runtime.GC()
	}
	p.Stop()
	if runtimes == 0 {
		t.Errorf("600 stops of the world: got none among %d gaps", own)
	}
}

// A raw thread is none of the runtime's: its stops are not seen.
func TestSpinModeSeesNoRuntime(t *testing.T) {
	needSpin(t)
	p := start(t, Options{Mode: Spin, Force: true}, func(g Gap) {
		if g.Runtime || !g.Cause.IsHost() {
			t.Errorf("gap %+v", g)
		}
	})
	for range 20 {
		runtime.GC()
	}
	p.Stop()
}

func TestRefusesOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"mode":      {Mode: 99},
		"threshold": {Threshold: -1},
	} {
		if p, err := Start(o); err == nil {
			p.Stop()
			t.Errorf("%s: no error", name)
		}
	}
}
