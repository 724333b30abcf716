package jitterprobe

import (
	"errors"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// A probe with real-time priority that shares its CPU loses it for a twentieth of
// each second: to the server for fair threads since Linux 6.12, to the limit on
// real-time threads before.
func TestRealtimeLimitOfTheKernel(t *testing.T) {
	needSpin(t)
	if runtime.NumCPU() == 1 {
		t.Skip("one CPU: a thread with real-time priority would keep the test itself from running")
	}
	if shareOfOthers("/") == (share{}) {
		t.Skip("the kernel keeps no time for threads without real-time priority")
	}
	limited := make(chan Gap, 1)
	p := start(t, Options{Mode: Spin, Force: true}, func(g Gap) {
		if g.Evidence.Witness == RealtimeLimit {
			select {
			case limited <- g:
			default:
			}
		}
	})
	tid := p.loop.tid
	err := unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	if errors.Is(err, unix.EPERM) {
		t.Skipf("real-time priority takes CAP_SYS_NICE, and a cgroup with a share of it: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !kernel.Realtime(tid) {
		t.Error("the thread has real-time priority, and is not known to")
	}
	competeOutside(t, p.CPU())
	// Who is stopped all the time leaves its CPU to others then, and meets no limit.
	stopped := func() bool {
		s := p.Snapshot()
		return s.Observed() > 10*time.Second && s.Causes[stall.HostSuspended].Time > s.Observed()/10
	}
	within(t, "a gap of the limit", func() bool { return len(limited) > 0 || stopped() })
	s := p.Stop()
	if len(limited) == 0 {
		t.Skipf("skipped: somebody stopped these tests for %v of %v", s.Causes[stall.HostSuspended].Time, s.Observed())
	}
	if g := <-limited; g.Cause != stall.HostThrottled || g.Scope != stall.ScopeCPU || g.Evidence.Name == "" {
		t.Errorf("got %v of scope %v, %q", g.Cause, g.Scope, g.Evidence)
	}
}

// competeOutside has a process of its own compete for a CPU until the test ends. A
// goroutine would not do: the runtime takes its thread off the CPU now and then, and the
// share of the others comes in pieces.
func competeOutside(t *testing.T, cpu int) {
	t.Helper()
	c := exec.Command("sh", "-c", "while :; do :; done")
	if err := c.Start(); err != nil {
		t.Skipf("skipped: a process that competes: %v", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // killed
	})
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(c.Process.Pid, &one); err != nil {
		t.Fatal(err)
	}
}

func TestRealtimeShares(t *testing.T) {
	const ms = time.Millisecond
	limit := share{time.Second, 20 * ms}
	for _, test := range []struct {
		name, release, runtime string
		want                   share
	}{
		{"by default", "6.1.0-13-amd64", "950000", share{time.Second, 50 * ms}},
		{"a limit of its own", "5.15.0", "980000", limit},
		{"no limit", "6.11.9", "-1", share{}},
		{"a limit that is none", "6.11.9", "1000000", share{}},
		{"no limit, and the server", "6.12-rc1", "-1", fairServer},
		{"a limit that nothing enforces, and the server", "6.18.44-fc", "980000", fairServer},
		{"the next major", "7.0", "-1", fairServer},
		{"a kernel that does not say", "", "-1", share{}},
		{"one that says nonsense", "six.twelve", "-1", share{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := machine(t, map[string]string{
				"proc/sys/kernel/osrelease":           test.release + "\n",
				"proc/sys/kernel/sched_rt_period_us":  "1000000\n",
				"proc/sys/kernel/sched_rt_runtime_us": test.runtime + "\n",
			})
			if got := shareOfOthers(root); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// Where there are only sums, they are asked first: a thread that never waited was
// not limited.
func TestRealtimeLimitIsHeldAgainstTheSums(t *testing.T) {
	const ms = time.Millisecond
	root := machine(t, map[string]string{
		"proc/self/task/1/schedstat": "9 9 9\n",
		"proc/self/task/1/status":    "voluntary_ctxt_switches:\t9\n",
		"proc/self/task/1/stat":      "1 (x) R 0 0 0 0 0 0 9 0 9 0\n",
	})
	j := classifier{view: &kernel.View{}, realtime: newLimited(time.Second), waited: newWaited(root, candidate{mode: Spin, tid: 1})}
	gaps := []Gap{unknownAt(0, 51*ms), unknownAt(1000*ms, 51*ms)}
	j.waited.last.looked = true
	j.waited.begin(func() bool { return true })
	j.classify(gaps, batch{})
	if g := gaps[1]; g.Cause != stall.HostIRQOrSteal || g.Evidence.Witness != Remainder {
		t.Errorf("got %v, %q, want %v: it was not switched out", g.Cause, g.Evidence, stall.HostIRQOrSteal)
	}
}
