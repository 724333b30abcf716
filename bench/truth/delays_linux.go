package truth

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// delays reads for how long threads of this process have waited for a CPU that
// another process had: run_delay of /proc/PID/task/TID/schedstat
// (Documentation/scheduler/sched-stats.rst). Files stay open, as it is read
// around every request.
type delays struct {
	mu    sync.Mutex
	reads int
	files map[string]*os.File
}

// listEvery is after how many reads the threads are listed again.
const listEvery = 32

// read returns the sum over all threads; it is zero where the kernel does not
// report it.
func (d *delays) read() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reads++; d.reads%listEvery == 1 {
		d.list()
	}
	sum := time.Duration(0)
	var text [64]byte
	for _, f := range d.files {
		n, _ := f.ReadAt(text[:], 0)
		if f := bytes.Fields(text[:n]); len(f) == 3 {
			ns, _ := strconv.ParseInt(string(f[1]), 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}

func (d *delays) list() {
	const tasks = "/proc/self/task"
	if d.files == nil {
		d.files = make(map[string]*os.File)
	}
	dir, err := os.Open(tasks)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if d.files[name] == nil {
			if f, err := os.Open(filepath.Join(tasks, name, "schedstat")); err == nil {
				d.files[name] = f
			}
		}
	}
}

func (d *delays) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		_ = f.Close()
	}
	d.files = nil
}
