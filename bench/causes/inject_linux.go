package causes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/kernel"
	"github.com/otelgc/otelgc/stall"
)

// quota makes a cgroup that the child joins, in whichever hierarchy has the cpu
// controller. It has the greatest weight: while others have the probe's CPU, the
// quota may run out on another one, and the account is of all.
func quota(spec *childSpec) (undo func() error, err error) {
	for _, h := range []struct{ mount, weightFile, weight, file, quota string }{
		{"/sys/fs/cgroup/cpu", "cpu.shares", "262144", "cpu.cfs_quota_us", "20000"},
		{"/sys/fs/cgroup/cpu,cpuacct", "cpu.shares", "262144", "cpu.cfs_quota_us", "20000"},
		{"/sys/fs/cgroup", "cpu.weight", "10000", "cpu.max", "20000 100000"},
	} {
		dir, one := os.MkdirTemp(h.mount, "otelgc-causes-")
		if one == nil {
			one = errors.Join(
				os.WriteFile(filepath.Join(dir, h.weightFile), []byte(h.weight), 0o644),
				os.WriteFile(filepath.Join(dir, h.file), []byte(h.quota), 0o644))
			if one == nil {
				spec.Join = dir
				return func() error { return os.Remove(dir) }, nil
			}
			one = errors.Join(one, os.Remove(dir))
		}
		err = errors.Join(err, one)
	}
	return nil, fmt.Errorf("make a cgroup with a quota: %w", err)
}

// pollEvery is the time between two looks at cpu.stat. A look that is later than
// pollLate does not know when the throttling ended.
const (
	pollEvery = time.Millisecond
	pollLate  = 4 * time.Millisecond
)

// watchQuota looks at the cgroup's own account: the count rises when a
// throttling begins, the time when it ends.
func watchQuota(in *injection) error {
	file := filepath.Join(in.child.cgroup, "cpu.stat")
	count, spent, err := throttled(file)
	if err != nil {
		return err
	}
	begun, last := stall.Instant(0), in.clock.Now()
	for ; in.on(); time.Sleep(pollEvery) {
		n, t, err := throttled(file)
		if err != nil {
			return err
		}
		now := in.clock.Now()
		if n != count && begun == 0 {
			begun = now.Add(-2 * pollEvery)
		}
		if t != spent && begun != 0 {
			// The time that was added says when it began, better than the look.
			begun = min(begun, now.Add(-time.Duration(t-spent)))
			if now.Sub(last) <= pollLate {
				in.truth = append(in.truth, stall.Span{Start: begun, End: now})
			}
			begun = 0
		}
		count, spent, last = n, t, now
	}
	return nil
}

// throttled reads how often a cgroup was throttled and for how many nanoseconds.
func throttled(file string) (count, nanos int64, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, fmt.Errorf("read throttling: %w", err)
	}
	facts := make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		facts[name], _ = strconv.ParseInt(value, 10, 64)
	}
	return facts["nr_throttled"], facts["throttled_time"] + 1000*facts["throttled_usec"], nil // of cgroup v1 or v2
}

// compete runs a hog on the probe's CPU; it says itself when it ran.
func compete(in *injection) error {
	return beside(in, childSpec{Work: "hog", CPU: in.child.hello.CPU})
}

// packets has the probe's CPU receive what another process sends to itself.
func packets(in *injection) error {
	err := beside(in, childSpec{Work: "packets", CPU: in.child.hello.CPU, Away: true})
	if err != nil && len(in.truth) == 0 {
		return missingRights{err}
	}
	return err
}

// beside runs a child that has no probe.
func beside(in *injection, spec childSpec) error {
	child, err := startChild(spec)
	if err != nil {
		return err
	}
	in.wait(time.Until(in.end))
	last, err := child.stop()
	in.truth = last.Truth
	return err
}

// Lengths of the stops, and the time between two.
var (
	stopFor   = []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond}
	stopEvery = 60 * time.Millisecond
)

// stopAndGo stops the child and has it go on. All of its threads are known to be
// stopped from when the kernel says so.
func stopAndGo(in *injection) error {
	for i := 0; in.on(); i++ {
		if err := in.child.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		err := unix.Waitid(unix.P_PID, in.child.Process.Pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		s := stall.Span{Start: in.clock.Now()}
		in.wait(stopFor[i%len(stopFor)])
		s.End = in.clock.Now()
		if err := errors.Join(err, in.child.Process.Signal(syscall.SIGCONT)); err != nil {
			return err
		}
		in.truth = append(in.truth, s)
		in.wait(stopEvery)
	}
	return nil
}

// moveEvery is the time between two moves of the probe's thread.
const moveEvery = 10 * time.Millisecond

// move has the probe's thread go to another CPU, and back after a while. What it
// waits for on the way there is the truth, if it got that CPU before it had to go
// back.
func move(in *injection) error {
	away := 0
	if in.child.hello.CPU == 0 {
		away = 1
	}
	for ; in.on(); in.wait(moveEvery) {
		before, err := harness.ReadThread(in.tid)
		s := stall.Span{Start: in.clock.Now()}
		if err := harness.PinThread(in.tid, away); err != nil {
			return missingRights{err}
		}
		s.End = in.clock.Now()
		in.wait(moveEvery)
		after, err2 := harness.ReadThread(in.tid)
		if err := errors.Join(err, err2, harness.PinThread(in.tid, in.child.hello.CPU)); err != nil {
			return err
		}
		if after.Turns > before.Turns {
			in.truth = append(in.truth, s)
		}
	}
	return nil
}

// probeThread returns the thread of a process on which a probe spins.
func probeThread(pid int) (int, error) {
	threads, err := harness.Threads(pid)
	i := slices.IndexFunc(threads, func(t harness.Thread) bool { return t.Name == harness.ProbeThread })
	if i < 0 {
		return 0, errors.Join(errors.New("find the probe's thread: none has its name"), err)
	}
	return threads[i].TID, nil
}

// realtime gives the probe's thread real-time priority beside a competitor that
// has none: the kernel keeps a twentieth of each second for the competitor, which
// says itself when it ran.
func realtime(in *injection) error {
	if err := unix.SchedSetAttr(in.tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0); err != nil {
		return missingRights{fmt.Errorf("give thread %d real-time priority: %w", in.tid, err)}
	}
	return beside(in, childSpec{Work: "greedy hog", CPU: in.child.hello.CPU})
}

// timers has the kernel sample the probe's CPU by its clock: each sample is an
// interrupt of a timer, and says itself when it came.
func timers(in *injection) error {
	times, err := kernel.Interrupt(in.ctx, in.child.hello.CPU, in.end)
	if err != nil {
		return missingRights{err}
	}
	for _, t := range times {
		in.truth = append(in.truth, stall.Span{Start: t, End: t + 1})
	}
	return nil
}

// switchPages is room for what is sampled of a thread that is preempted 10,000 times
// a second, in half a minute.
const switchPages = 1024

// undisturbed injects, and has the kernel report when the probe's thread was switched
// out meanwhile: a short gap with a switch in it has two causes, and the longer one is
// unknown.
func undisturbed(inject injector) injector {
	return func(in *injection) (err error) {
		ring, err := kernel.Sample(unix.PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 0, in.tid, -1, switchPages)
		if err != nil {
			return missingRights{err}
		}
		defer func() { err = errors.Join(err, ring.Close()) }()
		if err := inject(in); err != nil {
			return err
		}
		times, lost := ring.Times()
		if lost > 0 {
			return fmt.Errorf("watch switches of the probe: %d of them lost", lost)
		}
		in.switched = times
		return nil
	}
}
