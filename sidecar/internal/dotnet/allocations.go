package dotnet

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
)

const (
	// maxAllocators bounds the threads that are kept apart, maxToldAllocators
	// those that the summary names.
	maxAllocators     = 1024
	maxToldAllocators = 64
	// allocatorBytes is the memory of one of them, at most.
	allocatorBytes = 256
)

// costOfAllocations is what a user should know who asked for them.
const costOfAllocations = "one event about every 100 kB that the process allocates, with the CPU time that it takes there"

// Allocations is who allocated, by the runtime's AllocationTick: a sample. What
// all threads allocated between two events is put down to the thread that fired
// the second. Sizes are bytes.
type Allocations struct {
	Sampled bool        `json:"sampled"` // always: none of it is a count
	Samples uint64      `json:"samples"`
	Bytes   uint64      `json:"bytes"`
	Threads []Allocator `json:"threads"` // the most first
	// Others is what threads allocated that are not named.
	Others uint64 `json:"others,omitempty"`
}

// Allocator is one thread.
type Allocator struct {
	Thread  uint64 `json:"thread"`         // its number for itself
	Name    string `json:"name,omitempty"` // the last that was seen
	Samples uint64 `json:"samples"`
	SOH     uint64 `json:"soh"` // small objects
	LOH     uint64 `json:"loh"`
	POH     uint64 `json:"poh"`
}

func (a *Allocator) bytes() uint64 { return a.SOH + a.LOH + a.POH }

// allocations sums up what the sessions with one process say. The zero value is
// off.
type allocations struct {
	on       bool
	byThread map[uint64]*Allocator
	others   Allocator // of threads over the limit
}

func (a *allocations) add(list []dotnetgc.Allocation) {
	if a.byThread == nil && len(list) > 0 {
		a.byThread = make(map[uint64]*Allocator)
	}
	for i := range list {
		v := &list[i]
		to := a.byThread[v.Thread]
		switch {
		case v.Thread == 0 || to == nil && len(a.byThread) >= maxAllocators:
			to = &a.others
		case to == nil:
			to = &Allocator{Thread: v.Thread}
			a.byThread[v.Thread] = to
		}
		to.Samples += v.Samples
		to.SOH += uint64(v.SOH)
		to.LOH += uint64(v.LOH)
		to.POH += uint64(v.POH)
	}
}

// summary returns what was added, nil if nobody asked.
func (a *allocations) summary() *Allocations {
	if !a.on {
		return nil
	}
	s := &Allocations{Sampled: true, Samples: a.others.Samples, Bytes: a.others.bytes(), Others: a.others.bytes(), Threads: []Allocator{}}
	for _, v := range a.byThread {
		s.Samples += v.Samples
		s.Bytes += v.bytes()
		s.Threads = append(s.Threads, *v)
	}
	slices.SortFunc(s.Threads, func(x, y Allocator) int {
		return cmp.Or(cmp.Compare(y.bytes(), x.bytes()), cmp.Compare(x.Thread, y.Thread))
	})
	for len(s.Threads) > maxToldAllocators {
		last := len(s.Threads) - 1
		s.Others += s.Threads[last].bytes()
		s.Threads = s.Threads[:last]
	}
	return s
}

// String says it in one line.
func (s *Allocations) String() string {
	if s.Samples == 0 {
		return "no event came"
	}
	words := []string{fmt.Sprintf("about %.1f MB by %d events", float64(s.Bytes)/1e6, s.Samples)}
	for i := range s.Threads[:min(3, len(s.Threads))] {
		t := &s.Threads[i]
		share := 100 * float64(t.bytes()) / float64(max(1, s.Bytes))
		words = append(words, strings.TrimSpace(fmt.Sprintf("%.0f%% by thread %d %s", share, t.Thread, t.Name)))
	}
	return strings.Join(words, ", ")
}

// name looks up what the threads are called. An event has the number that a
// thread has in its own pid namespace.
func (a *allocations) name(proc dotnetipc.Proc, pid int) {
	dirs, _, err := threadDirs(proc, pid)
	if err != nil {
		return
	}
	for _, dir := range dirs {
		text, err := readThread(filepath.Join(dir, "status"))
		if err != nil {
			continue // it ended
		}
		name, inner := parseStatus(text)
		if t := a.byThread[inner]; t != nil && name != "" {
			t.Name = name
		}
	}
}

// parseStatus reads Name and the last number of NSpid of a
// proc_pid_status(5); 0 if it has none.
func parseStatus(text []byte) (name string, inner uint64) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch f := strings.Fields(value); {
		case key == "Name":
			name = strings.TrimSpace(value)
		case key == "NSpid" && len(f) > 0:
			inner, _ = strconv.ParseUint(f[len(f)-1], 10, 64) // 0 otherwise
		}
	}
	return name, inner
}
