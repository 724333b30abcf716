package target

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
)

// maxThreads bounds the threads of a process that are looked at.
const maxThreads = 4096

// The names of the collector's threads (runtime, src/coreclr/gc/gc.cpp), of
// which the kernel keeps 15 bytes, and that of tiered compilation.
const (
	serverThread     = ".NET Server GC"
	backgroundThread = ".NET BGC"
	tieringThread    = ".NET Tiered Com"
)

// errSomeThreads says that a list of threads is not whole.
var errSomeThreads = fmt.Errorf("not all threads of the process could be looked at, which are %d at most", maxThreads)

// threadsOf returns the threads that a process has now. Those that end
// meanwhile are missing. The list is not whole if there are more than
// maxThreads, or one cannot be read.
func threadsOf(files dotnetipc.Proc, pid int) (all []proc.Stat, whole bool, err error) {
	dir := cmp.Or(files.Root, "/proc")
	root, tasks := os.DirFS(filepath.Dir(dir)), fmt.Sprintf("%s/%d/task", filepath.Base(dir), pid)
	tids, whole, err := proc.List(root, tasks, maxThreads)
	if err != nil {
		return nil, false, err
	}
	all = make([]proc.Stat, 0, len(tids))
	for _, tid := range tids {
		stat, err := proc.Read(root, tasks+"/"+tid+"/stat")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it ended
		}
		t, bad := proc.ParseStat(stat)
		if err != nil || bad != nil {
			whole = false
			continue
		}
		all = append(all, t)
	}
	return all, whole, nil
}

// count returns how many threads have the name.
func count(threads []proc.Stat, name string) (n int) {
	for i := range threads {
		if threads[i].Name == name {
			n++
		}
	}
	return n
}

const (
	// threadsEvery is the number of statuses between two looks at the threads.
	threadsEvery = 10
	// maxGCThreads bounds the threads of the collector that are kept, those
	// that ended included: server GC has one per heap, and 1,024 at most.
	maxGCThreads = 2048
)

// GCThread is one thread of the collector. Its CPU time is no time in GC: under
// Workstation GC the program's own threads collect, and only a background
// collection has a thread.
type GCThread struct {
	Thread int    `json:"thread"`
	Name   string `json:"name"`
	// CPU and Elapsed count from when the process is watched, or the thread was
	// made: its CPU time, in steps of 10 ms, and the time that it has been there.
	CPU     int64 `json:"cpu"`
	Elapsed int64 `json:"elapsed"`
	// Ended says that the thread is no longer there: what was read last. One
	// that came and went between two looks is missing. Of a thread that a look
	// at a part of the threads did not find, it is not known, and not said.
	Ended bool `json:"ended,omitempty"`
}

// gcThreads follows the threads of the collector of one process.
type gcThreads struct {
	known map[threadKey]*followed
	first stall.Instant // when they were looked at first
	left  int           // over the limit, the most in one look
	part  bool          // a look saw a part of the threads only
}

// threadKey names a thread: its number is used again.
type threadKey struct {
	id      int
	created uint64
}

type followed struct {
	GCThread
	since stall.Instant
	base  time.Duration // of CPU at since
}

// look takes in the threads that there are now, or a part of them.
func (g *gcThreads) look(threads []proc.Stat, whole bool, now stall.Instant, madeAt func(uint64) stall.Instant) {
	if g.first == 0 {
		g.first, g.known = now, make(map[threadKey]*followed)
	}
	if g.part = g.part || !whole; whole {
		for _, f := range g.known {
			f.Ended = true
		}
	}
	left := 0
	for i := range threads {
		t := &threads[i]
		if t.Name != serverThread && t.Name != backgroundThread {
			continue
		}
		f := g.follow(t, now, madeAt)
		if f == nil {
			left++
			continue
		}
		f.Ended = false
		f.CPU, f.Elapsed = int64(t.CPU-f.base), int64(max(0, now.Sub(f.since)))
	}
	g.left = max(g.left, left)
}

// follow returns what is kept of a thread, nil if there are too many.
func (g *gcThreads) follow(t *proc.Stat, now stall.Instant, madeAt func(uint64) stall.Instant) *followed {
	key := threadKey{t.ID, t.Created}
	if f := g.known[key]; f != nil {
		return f
	}
	if len(g.known) >= maxGCThreads {
		return nil
	}
	f := &followed{GCThread: GCThread{Thread: t.ID, Name: t.Name}, since: max(g.first, min(now, madeAt(t.Created)))}
	if now == g.first {
		f.base = t.CPU
	}
	g.known[key] = f
	return f
}

// list returns them by name, then number.
func (g *gcThreads) list() []GCThread {
	var all []GCThread
	for _, f := range g.known {
		all = append(all, f.GCThread)
	}
	slices.SortFunc(all, func(a, b GCThread) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Elapsed, b.Elapsed))
	})
	return all
}

// lookAtThreads keeps the CPU time of the collector's threads, as long as they
// can be read: of a process that ended, what was read last.
func (p *process) lookAtThreads(now stall.Instant) {
	if p.ID.PID == 0 {
		return
	}
	threads, whole, err := threadsOf(p.proc, p.ID.PID)
	if err != nil || len(threads) == 0 {
		return
	}
	p.gcThreads.look(threads, whole, now, func(ticks uint64) stall.Instant { return proc.MadeAt(p.Clock, ticks) })
	p.summary.GCThreads, p.summary.GCThreadsLeft, p.summary.GCThreadsPartly = p.gcThreads.list(), p.gcThreads.left, p.gcThreads.part
}

// maxMaps bounds the mappings of a process that are looked at.
const maxMaps = 1 << 16

// gcModule returns the file of the collector that a process has loaded instead
// of the one that is part of its runtime, empty for none, and whether that is
// known: libclrgc.so and libclrgcexp.so, which GCName loads.
func gcModule(ctx context.Context, proc dotnetipc.Proc, pid int) (name string, ok bool) {
	name, err := dotnetipc.Look(ctx, proc, pid, func() (string, error) { return mappedGC(proc, pid) })
	return name, err == nil
}

func mappedGC(proc dotnetipc.Proc, pid int) (string, error) {
	f, err := proc.FS().Open("proc/" + strconv.Itoa(pid) + "/maps")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	for n := 0; lines.Scan(); n++ {
		if n == maxMaps {
			return "", errors.New("too many mappings")
		}
		_, path, found := strings.Cut(lines.Text(), "/")
		if base := filepath.Base(path); found && (base == "libclrgc.so" || base == "libclrgcexp.so") {
			return base, nil
		}
	}
	return "", lines.Err()
}
