package kernel

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/jitterprobe/internal/tracefs"
	"github.com/otelgc/otelgc/stall"
)

// Pages of the rings, of 4 KiB. A thread has two records per preemption and one
// per fault, of 40 to 60 bytes; a CPU some four per interrupt. They hold what
// comes in 100 ms of 25,000 preemptions or 40,000 interrupts a second.
const (
	threadPages = 64
	cpuPages    = 256
)

// Open opens the records of the thread tid, which is pinned to cpu, and, if
// they are wanted, those of the interrupts of cpu. It always returns a View,
// of what the rights allow.
func Open(tid, cpu int, interrupts bool, clock stall.Clock) (*View, Rights) {
	v := &View{clock: clock}
	v.thread.home = int32(cpu)
	var why Rights
	if why.Thread = v.openThread(tid); why.Thread != nil {
		why.CPU = why.Thread
		return v, why
	}
	why.CPU = errNotWanted
	if interrupts {
		why.Tracefs, why.CPU = v.openCPU(cpu)
	}
	return v, why
}

var errNotWanted = errors.New("interrupts are not traced")

func (v *View) openThread(tid int) error {
	r, err := perf.OpenThread(tid, threadPages)
	if err != nil {
		return err
	}
	for _, e := range []struct {
		event uint64
		id    *uint64
	}{{perf.Faults, &v.thread.begins}, {perf.MinorFaults, &v.thread.minor}, {perf.MajorFaults, &v.thread.major}} {
		if *e.id, err = r.AddSoftware(e.event); err != nil {
			return errors.Join(err, r.Close())
		}
	}
	v.ofTid, v.thread.since = r, v.clock.Now()
	v.thread.last = v.thread.since
	return nil
}

// openCPU opens the ring of a CPU. It returns both errors if both rights are missing:
// to mend one alone does not help.
func (v *View) openCPU(n int) (noTracefs, noPoints error) {
	r, noPoints := perf.OpenCPU(n, cpuPages)
	fs, noTracefs := tracefs.Open("/")
	if noTracefs == nil {
		defer func() { _ = fs.Close() }() // it was only read
	}
	if noPoints == nil && noTracefs == nil {
		v.cpu = cpu{names: make(map[uint64]string)}
		noTracefs, noPoints = v.cpu.trace(r, fs)
	}
	switch {
	case noPoints != nil && r == nil:
		return noTracefs, noPoints
	case noPoints != nil || noTracefs != nil:
		v.cpu = cpu{}
		_ = r.Close() // nothing was read from it
		return noTracefs, noPoints
	}
	r.Read(func(*perf.Record) {}) // of points that had an entry and no exit yet
	v.ofCPU, v.cpu.since = r, v.clock.Now()
	v.cpu.last = v.cpu.since
	return nil, nil
}

// trace adds the tracepoints that fs knows to r.
func (c *cpu) trace(r *perf.Ring, fs *tracefs.FS) (noTracefs, noPoints error) {
	p, err := fs.Point("sched", "sched_switch")
	if err != nil {
		return err, nil
	}
	if err := c.addSwitches(r, &p); err != nil {
		return nil, err
	}
	c.points, err = addPoints(r, fs)
	return nil, err
}

// addSwitches adds the tracepoint of context switches: it names threads that
// are in no PID namespace of ours.
func (c *cpu) addSwitches(r *perf.Ring, p *tracefs.Point) (err error) {
	c.comm, c.pid = p.Field("next_comm", commSize), p.Field("next_pid", 4)
	if c.comm == 0 || c.pid == 0 {
		return fmt.Errorf("tracepoint sched/sched_switch: %w: it has other fields", stall.ErrNotSupported)
	}
	c.prio, c.prevPrio, c.state = p.Field("next_prio", 4), p.Field("prev_prio", 4), p.Field("prev_state", 8)
	c.switches, err = r.AddTracepoint(p.Number)
	return err
}

// groups hold the tracepoints of all interrupts: those of the x86 local APIC,
// of devices, softirqs, arm64's between processors, and NMIs.
var groups = []string{"irq_vectors", "irq", "ipi", "nmi"}

// addPoints adds every tracepoint of an entry or an exit to r.
func addPoints(r *perf.Ring, fs *tracefs.FS) (map[uint64]point, error) {
	points := make(map[uint64]point)
	proof := false
	for _, g := range groups {
		list := fs.Points(g)
		for i := range list {
			p, ok := meaning(&list[i], uint32(len(points)), points)
			if !ok {
				continue
			}
			id, err := r.AddTracepoint(list[i].Number)
			if err != nil {
				if p.exit { // irq_work's may not be traced: it could cause itself
					unpair(points, p.vector)
					continue
				}
				return nil, fmt.Errorf("tracepoint %s/%s: %w", g, list[i].Name, err)
			}
			points[id] = p
			proof = proof || p.proof
		}
	}
	if !proof {
		return nil, fmt.Errorf("tracepoints of interrupts: %w by this kernel", stall.ErrNotSupported)
	}
	return points, nil
}

// meaning returns what a tracepoint means, and false if it does not matter.
// Next is a vector that no point has yet.
func meaning(t *tracefs.Point, next uint32, points map[uint64]point) (point, bool) {
	name, exit := strings.CutSuffix(t.Name, "_exit")
	if !exit {
		entry := false
		if name, entry = strings.CutSuffix(t.Name, "_entry"); !entry {
			return point{vector: next, name: "NMI", single: true}, t.Group == "nmi"
		}
	}
	if name == "tasklet" { // runs within a softirq
		return point{}, false
	}
	p := point{vector: next, name: name, exit: exit, soft: name == "softirq"}
	// The tick is the local APIC's on x86, and a device's elsewhere.
	p.proof = name == "local_timer" || name == "irq_handler" && runtime.GOARCH != "amd64"
	switch {
	case p.soft:
		p.field = t.Field("vec", 4)
	case name == "irq_handler":
		p.field = t.Field("irq", 4)
	}
	for _, q := range points {
		if q.name == name {
			p.vector = q.vector
		}
	}
	return p, true
}

// unpair makes the entry of a vector stand alone.
func unpair(points map[uint64]point, vector uint32) {
	for id, p := range points {
		if p.vector == vector {
			p.single = true
			points[id] = p
		}
	}
}

// device returns the name of the device of an interrupt, if it is known.
func device(irq uint32) string {
	text, err := os.ReadFile(fmt.Sprintf("/sys/kernel/irq/%d/actions", irq))
	if name := strings.TrimSpace(string(text)); err == nil && name != "" && len(name) <= maxDevice {
		return " (" + name + ")"
	}
	return ""
}

// maxDevice bounds the name of a device.
const maxDevice = 64

// Slept returns for how long the machine has slept since it was booted, by
// which CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC.
func Slept() (time.Duration, bool) {
	for range sleptTries {
		var before, boot, after unix.Timespec
		if !read(unix.CLOCK_MONOTONIC, &before) || !read(unix.CLOCK_BOOTTIME, &boot) || !read(unix.CLOCK_MONOTONIC, &after) {
			return 0, false
		}
		if width := after.Nano() - before.Nano(); width <= int64(sleptWidth) {
			return time.Duration(boot.Nano() - before.Nano() - width/2), true
		}
	}
	return 0, false // this thread is being interrupted all the time
}

// read reads a clock. It hides the system call, which never blocks, from the Go
// runtime: the runtime would wake its monitor, which takes longer than the call.
func read(clock uintptr, t *unix.Timespec) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(t)), 0)
	return errno == 0
}

// sleptWidth is how far apart the two readings of CLOCK_MONOTONIC may be: a
// thread that is preempted between two clocks must not see a sleep.
const (
	sleptWidth = 100 * time.Microsecond
	sleptTries = 10
)

// Realtime reports whether a thread has real-time priority.
func Realtime(tid int) bool {
	a, err := unix.SchedGetAttr(tid, 0)
	return err == nil && (a.Policy == unix.SCHED_FIFO || a.Policy == unix.SCHED_RR)
}
