//go:build (amd64 || arm64) && !noasm

package spin

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func allowed(t *testing.T) (cpus []int) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// TestOnCPU: what touches the memory runs on the probe's CPU, and its thread has
// all its CPUs again behind it.
func TestOnCPU(t *testing.T) {
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	for _, want := range allowed(t) {
		var cpu uint32
		var tid int
		err := onCPU(want, func() {
			tid = unix.Gettid()
			_, _, _ = unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
		if int(cpu) != want {
			t.Errorf("ran on CPU %d, want %d", cpu, want)
		}
		if err := unix.SchedGetaffinity(tid, &after); err != nil {
			t.Fatal(err)
		}
		if after != before {
			t.Errorf("the thread may use %v, want %v as before", after, before)
		}
	}
	const none = 1023
	if err := onCPU(none, func() { t.Error("called on a CPU that is not there") }); err == nil {
		t.Errorf("CPU %d: no error", none)
	}
}

// nodeOf returns the NUMA node of a CPU, by the link in its directory.
func nodeOf(t *testing.T, cpu int) string {
	t.Helper()
	links, err := filepath.Glob(filepath.Join("/sys/devices/system/cpu", "cpu"+strconv.Itoa(cpu), "node*"))
	if err != nil || len(links) != 1 {
		t.Skipf("the node of CPU %d is not known: %v, %v", cpu, links, err)
	}
	return filepath.Base(links[0])
}

// TestMemoryIsNear: each page lies on the node of the CPU.
func TestMemoryIsNear(t *testing.T) {
	if nodes, err := filepath.Glob("/sys/devices/system/node/node[0-9]*"); err != nil || len(nodes) < 2 {
		t.Skip("one NUMA node: all memory is near")
	}
	for _, cpu := range allowed(t) {
		mem, err := mapOn(cpu, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		size := os.Getpagesize()
		pages := make([]uintptr, len(mem)/size)
		status := make([]int32, len(pages))
		for i := range pages {
			pages[i] = uintptr(unsafe.Pointer(&mem[i*size]))
		}
		_, _, errno := unix.Syscall6(unix.SYS_MOVE_PAGES, 0, uintptr(len(pages)), uintptr(unsafe.Pointer(&pages[0])), 0, uintptr(unsafe.Pointer(&status[0])), 0)
		if errno != 0 {
			t.Skipf("ask where pages lie: %v", errno)
		}
		for i, node := range status {
			if want := nodeOf(t, cpu); "node"+strconv.Itoa(int(node)) != want {
				t.Fatalf("page %d of CPU %d lies on node %d, want %s", i, cpu, node, want)
			}
		}
		if err := unix.Munmap(mem); err != nil {
			t.Fatal(err)
		}
	}
}
