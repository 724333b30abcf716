package jitterprobe

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

func TestCPUThatIsNotAllowed(t *testing.T) {
	for _, cpu := range []int{-1, 1023, 1 << 20} {
		_, err := Start(Options{CPU: &cpu})
		if !errors.Is(err, ErrCPU) || !strings.Contains(err.Error(), "(allowed: ") {
			t.Errorf("cpu %d: got error %v, want %v", cpu, err, ErrCPU)
		}
	}
}

func TestReserveKeepsThreadsOff(t *testing.T) {
	allowed, err := allowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(allowed) < 2 {
		t.Skip("one CPU: nothing can be reserved")
	}
	cpu := allowed[len(allowed)-1]
	p := start(t, Options{Mode: Periodic, CPU: &cpu})
	restore, err := Reserve(cpu)
	if err != nil {
		t.Fatal(err)
	}
	both := func() (n int) {
		err := eachThread(func(tid int) (bool, error) {
			var mask unix.CPUSet
			if err := unix.SchedGetaffinity(tid, &mask); err != nil {
				return false, err
			}
			if mask.IsSet(cpu) && mask.Count() > 1 {
				n++
			}
			return false, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := both(); n != 0 {
		t.Errorf("reserved: %d threads may still use CPU %d", n, cpu)
	}
	if _, err := Start(Options{CPU: &cpu}); !errors.Is(err, ErrCPU) {
		t.Errorf("start on a reserved CPU: got error %v, want %v", err, ErrCPU)
	}
	p.Stop()
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	if n := both(); n == 0 {
		t.Errorf("given back: no thread may use CPU %d", cpu)
	}
	if _, err := Reserve(1023); !errors.Is(err, ErrCPU) {
		t.Errorf("reserve a CPU that is not allowed: got error %v, want %v", err, ErrCPU)
	}
}

// A probe whose thread somebody moves says so.
func TestMovedThread(t *testing.T) {
	needSpin(t)
	allowed, err := allowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(allowed) < 2 {
		t.Skip("one CPU: nowhere to move to")
	}
	moved := make(chan Gap, 1)
	p := start(t, Options{Mode: Spin, Force: true}, func(g Gap) {
		if g.Evidence.Moved {
			select {
			case moved <- g:
			default:
			}
		}
	})
	if l := p.Limits(); len(l) > 0 && l[0].Causes[0] == stall.HostFault {
		t.Skip(l[0])
	}
	var set unix.CPUSet
	set.Set(allowed[0])
	if err := unix.SchedSetaffinity(p.loop.tid, &set); err != nil {
		t.Fatal(err)
	}
	within(t, "a gap in which the thread moved", func() bool { return len(moved) > 0 })
	if g := <-moved; g.Cause != stall.HostPreempted || !strings.HasSuffix(g.Evidence.String(), "moved to another CPU") {
		t.Errorf("got %v, %q", g.Cause, g.Evidence)
	}
}
