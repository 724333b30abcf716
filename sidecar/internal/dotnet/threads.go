package dotnet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

const (
	// maxThreads bounds the threads of a process that are looked at.
	maxThreads = 4096
	// maxThreadFile bounds what is read of a file of a thread.
	maxThreadFile = 4096
)

// The names of the collector's threads (runtime, src/coreclr/gc/gc.cpp), of
// which the kernel keeps 15 bytes, and that of tiered compilation.
const (
	serverThread     = ".NET Server GC"
	backgroundThread = ".NET BGC"
	tieringThread    = ".NET Tiered Com"
)

// errSomeThreads says that a list of threads is not whole.
var errSomeThreads = fmt.Errorf("not all threads of the process could be looked at, which are %d at most", maxThreads)

// thread is a thread of a process.
type thread struct {
	id      int
	name    string
	cpu     time.Duration // user and system time, in steps of 10 ms
	created uint64        // clock ticks since boot
}

// threadsOf returns the threads that a process has now. Those that end
// meanwhile are missing. The list is not whole if there are more than
// maxThreads, or one cannot be read.
func threadsOf(proc dotnetipc.Proc, pid int) (all []thread, whole bool, err error) {
	dirs, whole, err := threadDirs(proc, pid)
	if err != nil {
		return nil, false, err
	}
	all = make([]thread, 0, len(dirs))
	for _, dir := range dirs {
		stat, err := readThread(filepath.Join(dir, "stat"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it ended
		}
		t, ok := parseThread(stat)
		if err != nil || !ok {
			whole = false
			continue
		}
		all = append(all, t)
	}
	return all, whole, nil
}

// threadDirs returns the directories of the threads of a process, maxThreads at most,
// and whether those are all.
func threadDirs(proc dotnetipc.Proc, pid int) (dirs []string, whole bool, err error) {
	root := proc.Root
	if root == "" {
		root = "/proc"
	}
	tasks := filepath.Join(root, strconv.Itoa(pid), "task")
	dir, err := os.Open(tasks)
	if err != nil {
		return nil, false, fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	ids, err := dir.Readdirnames(maxThreads + 1)
	if err != nil && err != io.EOF {
		return nil, false, fmt.Errorf("list threads: %w", err)
	}
	for _, id := range ids[:min(len(ids), maxThreads)] {
		dirs = append(dirs, filepath.Join(tasks, id))
	}
	return dirs, len(ids) <= maxThreads, nil
}

func readThread(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, maxThreadFile))
}

// parseThread reads the number, the name, utime, stime and starttime of a stat:
// fields 1, 2, 14, 15 and 22 of proc_pid_stat(5). The name may hold spaces and
// parentheses.
func parseThread(stat []byte) (t thread, ok bool) {
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return t, false
	}
	f := bytes.Fields(stat[to+1:])
	const behind = 3 // the first field behind the name
	if len(f) <= 22-behind {
		return t, false
	}
	var n [4]uint64
	for i, field := range [][]byte{stat[:from], f[14-behind], f[15-behind], f[22-behind]} {
		var err error
		if n[i], err = strconv.ParseUint(string(bytes.TrimSpace(field)), 10, 64); err != nil {
			return t, false
		}
	}
	const most = 1 << 32
	if n[0] >= most || n[1] >= most || n[2] >= most {
		return t, false
	}
	const tick = time.Second / 100 // USER_HZ
	name := strings.TrimSpace(string(stat[from+1 : to]))
	return thread{int(n[0]), name, time.Duration(n[1]+n[2]) * tick, n[3]}, true
}

// count returns how many threads have the name.
func count(threads []thread, name string) (n int) {
	for i := range threads {
		if threads[i].name == name {
			n++
		}
	}
	return n
}
