package jitterprobe

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// throttledMachine has a cgroup and a parent; set says how much each was
// throttled so far.
func throttledMachine(t *testing.T) (j *throttled, set func(dir string, count int, d time.Duration)) {
	t.Helper()
	root := machine(t, map[string]string{
		"proc/self/cgroup":               "0::/top/own\n",
		"proc/self/mountinfo":            "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/top/own/cpu.stat": "nr_throttled 7\nthrottled_usec 1000000\n",
		"sys/fs/cgroup/top/cpu.stat":     "nr_throttled 0\nthrottled_usec 0\n",
	})
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	made, err := newThrottled(root, clock)
	if err != nil {
		t.Fatal(err)
	}
	return &made, func(dir string, count int, d time.Duration) {
		text := fmt.Sprintf("nr_throttled %d\nthrottled_usec %d\n", count, d.Microseconds())
		if err := os.WriteFile(filepath.Join(root, "sys/fs/cgroup", dir, "cpu.stat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func anyGap(*Gap) bool { return true }

func TestThrottledFindsThrottling(t *testing.T) {
	j, set := throttledMachine(t)
	gaps := []Gap{unknown(2 * time.Millisecond), unknown(50 * time.Millisecond), unknown(40 * time.Millisecond)}
	set("top/own", 8, time.Second+50*time.Millisecond)
	j.settle(gaps, anyGap)
	if g := gaps[1]; g.Cause != stall.HostThrottled || g.Scope != stall.ScopeCgroup || g.Owner.Cgroup == 0 {
		t.Errorf("gap of the throttled time: got %+v", g)
	}
	for _, i := range []int{0, 2} {
		if g := gaps[i]; g.Cause != stall.HostUnknown {
			t.Errorf("gap %d, of which cpu.stat knows nothing: got %+v", i, g)
		}
	}
}

// The time of a throttling may be read before its gap has come to light, and
// the count long before.
func TestThrottledKeepsThrottledTimeForALateGap(t *testing.T) {
	for _, test := range []struct {
		name string
		wait time.Duration
		want stall.Cause
	}{
		{"the next drain", 0, stall.HostThrottled},
		{"much later", time.Hour, stall.HostUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			j, set := throttledMachine(t)
			set("top/own", 8, time.Second+50*time.Millisecond)
			j.settle([]Gap{unknown(time.Millisecond)}, anyGap)
			// The clock goes on, so the past is moved instead; and a read that
			// is due for its age alone must not wait for a test machine.
			j.asked = j.clock.Now().Add(-test.wait)
			gaps := []Gap{unknown(49 * time.Millisecond)}
			j.settle(gaps, anyGap)
			if g := gaps[0]; g.Cause != test.want {
				t.Errorf("gap: got %+v, want %v", g, test.want)
			}
		})
	}
}

// TestThrottledKeepsNothingForPreemptions: 241 ms that no gap claimed, since its own
// had another reason, too, are not those of gaps of 2 ms that came later, however
// many, though a throttling of 1 ms was among them.
func TestThrottledKeepsNothingForPreemptions(t *testing.T) {
	j, set := throttledMachine(t)
	at, count := time.Second+241*time.Millisecond, 10
	settle := func(d time.Duration) Gap {
		set("top/own", count, at)
		j.asked = j.clock.Now() // a read that is fresh on a machine of any speed
		gaps := []Gap{unknown(d)}
		j.settle(gaps, anyGap)
		return gaps[0]
	}
	if g := settle(605 * time.Millisecond); g.Cause != stall.HostUnknown {
		t.Errorf("gap of 605 ms: got %+v", g)
	}
	at, count = at+time.Millisecond, count+1
	if g := settle(time.Millisecond); g.Cause != stall.HostThrottled {
		t.Errorf("gap of the throttling of 1 ms: got %+v", g)
	}
	for range 5 {
		if g := settle(2 * time.Millisecond); g.Cause != stall.HostUnknown {
			t.Errorf("gap that nothing was throttled for: got %+v", g)
		}
	}
}

func TestThrottledAsksTheAncestors(t *testing.T) {
	j, set := throttledMachine(t)
	gaps := []Gap{unknown(50 * time.Millisecond)}
	set("top", 1, 50*time.Millisecond)
	j.settle(gaps, anyGap)
	if g := gaps[0]; g.Cause != stall.HostThrottled || g.Owner.Cgroup != j.watch.Inode(1) {
		t.Errorf("gap of the parent's throttling: got %+v", g)
	}
}

// The kernel sums over CPUs: on two of them 160 ms are one throttling of 80 ms.
func TestThrottledOnTwoCPUs(t *testing.T) {
	j, set := throttledMachine(t)
	gaps := []Gap{unknown(60 * time.Millisecond), unknown(79 * time.Millisecond)}
	set("top/own", 8, time.Second+160*time.Millisecond)
	j.settle(gaps, anyGap)
	if g := gaps[1]; g.Cause != stall.HostThrottled || g.Evidence.Time != 79*time.Millisecond {
		t.Errorf("gap on one of two CPUs: got %+v, want it throttled", g)
	}
	if g := gaps[0]; g.Cause != stall.HostUnknown {
		t.Errorf("another gap, and no other throttling: got %+v", g)
	}
}

func TestThrottledDoesNotGuess(t *testing.T) {
	j, set := throttledMachine(t)
	gaps := []Gap{unknown(50 * time.Millisecond)}
	set("top/own", 8, time.Second+10*time.Millisecond) // throttled, but not for that long
	j.settle(gaps, anyGap)
	if g := gaps[0]; g.Cause != stall.HostUnknown || g.Owner != (stall.Owner{}) {
		t.Errorf("gap five times as long as the throttling: got %+v", g)
	}
	stop := unknown(50 * time.Millisecond)
	stop.Runtime, stop.Cause = true, stall.RuntimeUnknown
	set("top/own", 9, time.Second+60*time.Millisecond)
	gaps = []Gap{stop}
	j.settle(gaps, anyGap)
	if gaps[0].Cause != stall.RuntimeUnknown {
		t.Errorf("stop of the runtime: got %+v", gaps[0])
	}
}
