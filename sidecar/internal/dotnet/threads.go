package dotnet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/proc"
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

// threadsOf returns the threads that a process has now. Those that end
// meanwhile are missing. The list is not whole if there are more than
// maxThreads, or one cannot be read.
func threadsOf(files dotnetipc.Proc, pid int) (all []proc.Stat, whole bool, err error) {
	dirs, whole, err := threadDirs(files, pid)
	if err != nil {
		return nil, false, err
	}
	all = make([]proc.Stat, 0, len(dirs))
	for _, dir := range dirs {
		stat, err := readThread(filepath.Join(dir, "stat"))
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

// count returns how many threads have the name.
func count(threads []proc.Stat, name string) (n int) {
	for i := range threads {
		if threads[i].Name == name {
			n++
		}
	}
	return n
}
