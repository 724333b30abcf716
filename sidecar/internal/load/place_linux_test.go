package load

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// affinities returns which CPUs the threads of this process may use.
func affinities(t *testing.T) map[unix.CPUSet]int {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	all := map[unix.CPUSet]int{}
	for _, e := range threads {
		tid, _ := strconv.Atoi(e.Name())
		var set unix.CPUSet
		if unix.SchedGetaffinity(tid, &set) == nil {
			all[set]++
		}
	}
	return all
}

// TestApart: all threads move to one CPU, a process that is started on the others has
// those, and all is as it was afterwards.
func TestApart(t *testing.T) {
	before := affinities(t)
	own, others, back, err := Apart()
	if err != nil {
		t.Fatal(err)
	}
	defer back()
	if len(others) == 0 {
		t.Skip("skipped: there is one CPU")
	}
	var alone unix.CPUSet
	alone.Set(own)
	if got := affinities(t); len(got) != 1 || got[alone] == 0 {
		t.Errorf("threads have %d affinities, %d of them CPU %d alone", len(got), got[alone], own)
	}
	var allowed string
	err = On(others, func() error {
		status, err := exec.Command("grep", "Cpus_allowed_list", "/proc/self/status").Output()
		_, allowed, _ = strings.Cut(strings.TrimSpace(string(status)), "\t")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(others) == 1 && allowed != strconv.Itoa(others[0]) {
		t.Errorf("a process on CPUs %v may use %q", others, allowed)
	}
	if strconv.Itoa(own) == allowed {
		t.Errorf("a process on CPUs %v may use CPU %d", others, own)
	}
	back()
	for set := range affinities(t) {
		if before[set] == 0 {
			t.Errorf("a thread is left with an affinity that none had")
		}
	}
	failed := os.ErrInvalid
	if err := On(nil, func() error { return failed }); err != failed {
		t.Errorf("On no CPUs: got %v, want %v", err, failed)
	}
}
