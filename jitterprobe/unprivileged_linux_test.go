package jitterprobe

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// asNobody runs f on a thread that has no rights. It ends with f.
func asNobody(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		const nobody = 65534
		// Of this thread only: the functions of package syscall change all.
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); e != 0 {
			done <- e
			return
		}
		done <- f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Where perf_event_paranoid allows it, who preempts is all that rights are needed
// for: that a thread was switched out, and that it had a page fault, it may know
// of itself.
func TestWithoutRightsSwitchesAreSeen(t *testing.T) {
	needSpin(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give it up")
	}
	paranoid, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil || strings.TrimSpace(string(paranoid)) > "2" {
		t.Skipf("perf_event_paranoid %q (%v) allows nothing", paranoid, err)
	}
	if runtime.NumCPU() == 1 {
		t.Skip("one CPU: the competitor would keep the test itself from running")
	}
	var own *Probe
	var preempted []Gap
	asNobody(t, func() (err error) {
		own, err = Start(Options{Mode: Spin, Force: true, Interrupts: true})
		return err
	})
	p := follow(t, own, func(g Gap) {
		if g.Cause == stall.HostPreempted && g.Evidence.Witness == SwitchRecord {
			preempted = append(preempted, g)
		}
	})
	if p.Mode() != Spin {
		t.Skipf("a thread without rights cannot spin here: %s", p.Note())
	}
	limits := p.Limits()
	if len(limits) == 0 {
		t.Fatal("no limits without rights")
	}
	last := limits[len(limits)-1]
	if len(last.Causes) != 2 || last.Causes[0] != stall.HostIRQ || last.Causes[1] != stall.HostSteal || last.Mend == "" {
		if strings.Contains(last.Why, unix.EACCES.Error()) || strings.Contains(last.Why, unix.EPERM.Error()) {
			t.Skip(last) // a seccomp profile or a security module
		}
		t.Errorf("limits %v, want that interrupts and steal are not told apart, and the mend", limits)
	}
	stop := compete(t, p.CPU())
	within(t, "ten preemptions", func() bool { return p.Snapshot().Causes[stall.HostPreempted].N >= 10 })
	stop()
	p.Stop()
	if len(preempted) == 0 {
		t.Fatal("no gap is called preempted by the record of its switch")
	}
	for _, g := range preempted {
		if g.Evidence.Name != "" || g.Evidence.TID != 0 {
			t.Errorf("gap %v: who preempted was not to be seen", g.Evidence)
		}
	}
}
