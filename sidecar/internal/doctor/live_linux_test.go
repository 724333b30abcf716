package doctor

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/jitterprobe"
)

// TestThisMachine looks at the machine that runs the test, with this very
// process as the target.
func TestThisMachine(t *testing.T) {
	report, err := Run(Options{Target: os.Getpid(), SelfTest: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	checkSane(t, report)
	for _, want := range []string{"clocksource", "cgroup.quota", "selftest.covered", "target.threads", "target.go", "target.gomaxprocs"} {
		i := slices.IndexFunc(report.Checks, func(c Check) bool { return c.ID == want })
		if i < 0 {
			t.Errorf("no check %s", want)
			continue
		}
		t.Logf("%+v", report.Checks[i])
		if want == "target.go" && !strings.HasPrefix(report.Checks[i].Value, "go1.") && !strings.HasPrefix(report.Checks[i].Value, "devel") {
			t.Errorf("target.go: got %q, want the version of Go", report.Checks[i].Value)
		}
	}
	if !slices.Contains(report.Decidable, "host.suspended") {
		t.Errorf("decidable causes: got %v, want host.suspended among them", report.Decidable)
	}
}

// TestRunningProbe: a probe that runs is judged as it is, though the rest of the
// process has made way for it.
func TestRunningProbe(t *testing.T) {
	p, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	restore, err := jitterprobe.Reserve(p.CPU())
	if err != nil {
		t.Skipf("no CPU to reserve: %v", err)
	}
	defer func() {
		if err := restore(); err != nil {
			t.Error(err)
		}
	}()
	report, err := Run(Options{Probe: p})
	if err != nil {
		t.Fatal(err)
	}
	if report.Mode != "periodic" || report.CPU == nil || *report.CPU != p.CPU() {
		t.Errorf("mode %s, CPU %v, want periodic on %d", report.Mode, report.CPU, p.CPU())
	}
	for _, c := range report.Checks {
		if c.Status == Fail && c.ID == "cpuset" || strings.HasPrefix(c.ID, "selftest") {
			t.Errorf("check %+v", c)
		}
	}
}

func TestTargetThatIsNotThere(t *testing.T) {
	// PID_MAX_LIMIT is 2^22 (linux/threads.h).
	if report, err := Run(Options{Target: 1<<22 + 1, SelfTest: -1}); err == nil || report != nil {
		t.Errorf("got %v, %v, want an error", report, err)
	}
}

// TestRootWithoutCapabilities: root that has no capabilities may follow its own
// threads where every other user may. What is asked of the kernel for that does not
// depend on who asks.
func TestRootWithoutCapabilities(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	if level, err := (&machine{root: root{os.DirFS("/")}}).number("proc/sys/kernel/perf_event_paranoid"); err != nil || level > 2 {
		t.Skipf("perf_event_paranoid %d, %v: nobody may", level, err)
	}
	if err := followSwitches(0, -1); err != nil {
		t.Skipf("not even with its capabilities: %v", err)
	}
	runtime.LockOSThread() // capabilities are the thread's
	defer runtime.UnlockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var had [2]unix.CapUserData
	if err := unix.Capget(&header, &had[0]); err != nil {
		t.Fatal(err)
	}
	without := had
	without[0].Effective, without[1].Effective = 0, 0
	if err := unix.Capset(&header, &without[0]); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Capset(&header, &had[0]); err != nil {
			t.Fatal(err)
		}
	}()
	if err := followSwitches(0, -1); err != nil {
		t.Errorf("follow its own thread: %v", err)
	}
}
