package jitterprobe

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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
