package causes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// childSpec is what a child does.
type childSpec struct {
	Mode   string // of the probe; empty for none
	Work   string // what the child injects into itself: "", "calm", "gc", "gc held"; or into CPU: "hog", "greedy hog", "packets"
	Join   string // a cgroup
	CPU    int    // of a child without a probe
	Away   bool   // in a network of its own
	Rights rights
	Trap   bool // the probe's memory is to be one, of faults that last until they are ended if Wait
	Wait   bool
}

// seenGap is a gap as the child reports it.
type seenGap struct {
	stall.Span
	Cause    string
	Evidence string
}

// seen is the last document of a child.
type seen struct {
	Gaps     []seenGap
	Truth    []stall.Span // what it did to itself, or when a hog ran
	Observed time.Duration
	Limits   []string
	Missing  string // why it cannot do it here
}

// hello is its first document.
type hello struct {
	CPU     int
	Trap    trap
	Missing string // why it cannot do it here
}

const childName = "causes"

// Child probes, or loads a CPU, if this process was started for it.
func Child() { harness.RunChild(childName, child) }

func child(spec childSpec) error {
	if spec.Join != "" {
		if err := os.WriteFile(filepath.Join(spec.Join, "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return fmt.Errorf("join cgroup: %w", err)
		}
	}
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	quit := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it
		close(quit)
	}()
	out := json.NewEncoder(os.Stdout)
	if spec.Mode == "" {
		if err := out.Encode(hello{CPU: spec.CPU}); err != nil {
			return err
		}
		truth, err := loads[spec.Work](spec.CPU, clock, quit)
		return errors.Join(err, out.Encode(seen{Truth: truth}))
	}
	return probing(spec, clock, quit, out)
}

// work is done to a CPU, or by a process to itself, until quit is closed. It
// returns what is known of when it took the CPU.
type work func(cpu int, clock stall.Clock, quit <-chan struct{}) (truth []stall.Span, err error)

// loads are what a child does to a CPU, works what a probing one does to itself.
var (
	loads = map[string]work{"hog": hog, "greedy hog": greedy, "packets": receive}
	works = map[string]work{
		"": idle, "calm": taken,
		"gc":      collect(func(h *held) []stall.Span { return h.stops }),
		"gc held": collect((*held).forCollections),
	}
)

func probing(spec childSpec, clock stall.Clock, quit <-chan struct{}, out *json.Encoder) error {
	mode, err := jitterprobe.ParseMode(spec.Mode)
	if err != nil {
		return err
	}
	if spec.Work == "calm" {
		debug.SetGCPercent(-1)
	}
	if err := spec.Rights.keep(); err != nil {
		return errors.Join(out.Encode(hello{Missing: err.Error()}), out.Encode(seen{}))
	}
	var s seen
	var missing missingRights
	gaps, summary, err := harness.Probe(jitterprobe.Options{Mode: mode, Force: true, Interrupts: true, Clock: clock}, func(p *jitterprobe.Probe) (err error) {
		for _, l := range p.Limits() {
			s.Limits = append(s.Limits, l.String())
		}
		first := hello{CPU: p.CPU()}
		if spec.Trap {
			if first.Trap, err = setTrap(spec.Wait); err != nil {
				first.Missing = err.Error()
			}
		}
		if err := out.Encode(first); err != nil {
			return err
		}
		s.Truth, err = works[spec.Work](p.CPU(), clock, quit)
		return err
	})
	if errors.As(err, &missing) {
		s.Missing, err = missing.Error(), nil
	}
	for _, g := range gaps {
		s.Gaps = append(s.Gaps, seenGap{stall.Span{Start: g.Start, End: g.End}, g.Cause.String(), g.Evidence.String()})
	}
	s.Observed = summary.Observed()
	return errors.Join(err, out.Encode(s))
}

func idle(_ int, _ stall.Clock, quit <-chan struct{}) ([]stall.Span, error) {
	<-quit
	return nil, nil
}

// process is a running child, as its parent sees it.
type process struct {
	*harness.Child
	hello  hello
	cgroup string // that it is in
}

func startChild(spec childSpec) (*process, error) {
	c, err := harness.NewChild(childName, spec)
	if err != nil {
		return nil, err
	}
	if spec.Away {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	}
	p := &process{Child: c, cgroup: spec.Join}
	return p, c.StartOn(nil, &p.hello)
}

// stop ends the child and returns what it saw.
func (p *process) stop() (s seen, err error) {
	err = p.Child.Stop(&s)
	return s, err
}

// rights are those of the process that probes. The injector has all.
type rights string

const (
	allRights rights = ""
	nobody    rights = "as nobody"                   // which may have records of its own threads
	noRecords rights = "without perf_event_open too" // as under the seccomp profile of most containers
)

// keep gives up what is not in r, for all threads.
func (r rights) keep() error {
	if r == allRights {
		return nil
	}
	if r == noRecords {
		if err := forbidPerf(); err != nil {
			return fmt.Errorf("forbid perf_event_open: %w", err)
		}
	}
	const id = 65534
	if err := syscall.Setresgid(id, id, id); err != nil {
		return fmt.Errorf("become nobody: %w", err)
	}
	if err := syscall.Setresuid(id, id, id); err != nil {
		return fmt.Errorf("become nobody: %w", err)
	}
	// Its files in /proc are its own again.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become nobody: %w", err)
	}
	return nil
}

// forbidPerf has the kernel refuse perf_event_open (seccomp(2)).
func forbidPerf() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const seccompErrno, seccompAllow, setFilter, allThreads = 0x50000, 0x7fff0000, 1, 1
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_PERF_EVENT_OPEN},
		{Code: unix.BPF_RET | unix.BPF_K, K: seccompErrno | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: seccompAllow},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if r, _, e := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&prog))); e != 0 || r != 0 {
		return fmt.Errorf("seccomp: %w (thread %d)", e, r)
	}
	return nil
}

// ranFrom is how long a hog must not have run to know that it did not.
const ranFrom = 20 * time.Microsecond

// greedy is a hog before all others that have no real-time priority.
func greedy(cpu int, clock stall.Clock, quit <-chan struct{}) ([]stall.Span, error) {
	runtime.LockOSThread()
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, -20); err != nil {
		return nil, fmt.Errorf("go before others: %w", err)
	}
	return hog(cpu, clock, quit)
}

// hog runs on cpu and returns when it did, by its own clock.
func hog(cpu int, clock stall.Clock, quit <-chan struct{}) (ran []stall.Span, err error) {
	runtime.LockOSThread()
	if err := harness.PinThread(0, cpu); err != nil {
		return nil, err
	}
	from := clock.Now()
	last := from
	for n := 0; ; n++ {
		now := clock.Now()
		if now.Sub(last) >= ranFrom {
			ran = append(ran, stall.Span{Start: from, End: last})
			from = now
		}
		last = now
		if n&1023 == 0 {
			select {
			case <-quit:
				return append(ran, stall.Span{Start: from, End: last}), nil
			default:
			}
		}
	}
}

// packetEvery is the time between two packets.
const packetEvery = time.Millisecond + 53*time.Microsecond

// receive sends packets to itself over the loopback device of a network
// namespace of its own, where cpu has to take them in: each
// is a softirq of that CPU between the sending and the receipt.
func receive(cpu int, clock stall.Clock, quit <-chan struct{}) (truth []stall.Span, err error) {
	if err := steer(cpu); err != nil {
		return nil, err
	}
	if _, err := jitterprobe.Reserve(cpu); err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("send packets: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	packet := make([]byte, 64)
	for {
		select {
		case <-quit:
			return truth, nil
		case <-time.After(packetEvery):
		}
		s := stall.Span{Start: clock.Now()}
		if _, err := conn.WriteTo(packet, conn.LocalAddr()); err != nil {
			return nil, fmt.Errorf("send packet: %w", err)
		}
		if _, _, err := conn.ReadFrom(packet); err != nil {
			return nil, fmt.Errorf("receive packet: %w", err)
		}
		s.End = clock.Now()
		truth = append(truth, s)
	}
}

// steer brings up the loopback device, and has cpu receive for it
// (Documentation/networking/scaling.rst, RPS).
func steer(cpu int) error {
	if err := up("lo"); err != nil {
		return err
	}
	// sysfs shows the network namespace of the process that mounted it.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount sysfs: %w", err)
	}
	const file = "/sys/class/net/lo/queues/rx-0/rps_cpus"
	if err := os.WriteFile(file, []byte(mask(cpu)), 0o644); err != nil {
		return fmt.Errorf("steer packets to CPU %d: %w", cpu, err)
	}
	return nil
}

// mask writes the set of one CPU as the kernel reads it: words of 32 bits in
// hexadecimal, the highest first.
func mask(cpu int) string {
	return fmt.Sprintf("%x", uint32(1)<<(cpu%32)) + strings.Repeat(",00000000", cpu/32)
}

func up(device string) (err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring up %s: %w", device, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	request, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request); err != nil {
		return fmt.Errorf("bring up %s: %w", device, err)
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bring up %s: %w", device, err)
	}
	return nil
}
