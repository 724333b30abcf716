package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Waits is how long a thread has waited for a CPU since it began, which any
// process may read of its own threads.
type Waits struct {
	// Delay is the time it could run and did not (second field of schedstat,
	// Documentation/scheduler/sched-stats.rst).
	Delay time.Duration
	// Turns counts how often it got the CPU, in step with Delay (third field).
	Turns uint64
	// Blocked counts how often it gave the CPU up because it could not run on
	// (voluntary_ctxt_switches, proc_pid_status(5)).
	Blocked uint64
	// Faults counts its page faults.
	Faults uint64
}

// WaitsFile reads the waits of one thread again and again. Its files stay open:
// they are read at each late wake-up, and opening one costs more than reading it.
type WaitsFile struct {
	tid                     int
	schedstat, status, stat *os.File
	text                    []byte
}

// maxText bounds what is read of a file.
const maxText = 1 << 20

// OpenWaits opens the files of a thread of this process below root, which is "/"
// but in tests.
func OpenWaits(root string, tid int) (*WaitsFile, error) {
	w := &WaitsFile{tid: tid, text: make([]byte, 2<<10)}
	dir := filepath.Join(root, "proc/self/task", strconv.Itoa(tid))
	for name, file := range map[string]**os.File{"schedstat": &w.schedstat, "status": &w.status, "stat": &w.stat} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("watch run delay: %w", err)
		}
		*file = f
	}
	return w, nil
}

// Close closes the files. A nil WaitsFile has none.
func (w *WaitsFile) Close() {
	if w == nil {
		return
	}
	for _, f := range []*os.File{w.schedstat, w.status, w.stat} {
		if f != nil {
			_ = f.Close() // it was only read
		}
	}
}

// Read returns the waits up to now.
func (w *WaitsFile) Read() (Waits, error) {
	var v Waits
	text, err := w.read(w.schedstat)
	if err != nil {
		return v, fmt.Errorf("read run delay: %w", err)
	}
	f := bytes.Fields(text)
	if len(f) < 3 {
		return v, fmt.Errorf("parse schedstat: %q", text)
	}
	delay, err1 := strconv.ParseInt(string(f[1]), 10, 64)
	turns, err2 := strconv.ParseUint(string(f[2]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return v, fmt.Errorf("parse schedstat: %w", err)
	}
	v.Delay, v.Turns = time.Duration(delay), turns
	if v.Blocked, err = w.blocked(); err != nil {
		return v, err
	}
	v.Faults, err = w.faults()
	return v, err
}

// read returns what a file holds now, valid until the next call.
func (w *WaitsFile) read(f *os.File) ([]byte, error) {
	for {
		n, err := f.ReadAt(w.text, 0)
		switch {
		case errors.Is(err, io.EOF):
			return w.text[:n], nil
		case err != nil:
			return nil, err
		case len(w.text) >= maxText:
			return nil, fmt.Errorf("%s has more than %d bytes", f.Name(), maxText)
		}
		w.text = make([]byte, 2*len(w.text)) // it is longer
	}
}

func (w *WaitsFile) blocked() (uint64, error) {
	text, err := w.read(w.status)
	if err != nil {
		return 0, fmt.Errorf("read switches: %w", err)
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("voluntary_ctxt_switches:")); ok {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("parse status: %w", err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("parse status of thread %d: no count of switches", w.tid)
}

// faults returns the sum of fields 10 and 12, minor and major faults
// (proc_pid_stat(5)).
func (w *WaitsFile) faults() (uint64, error) {
	text, err := w.read(w.stat)
	if err != nil {
		return 0, fmt.Errorf("read faults: %w", err)
	}
	// The name is in parentheses, and may hold some itself.
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 10 {
		return 0, fmt.Errorf("parse stat: %d fields", len(f))
	}
	minor, err1 := strconv.ParseUint(string(f[7]), 10, 64)
	major, err2 := strconv.ParseUint(string(f[9]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("parse stat: %w", err)
	}
	return minor + major, nil
}
