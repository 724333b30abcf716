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
	// Faults counts its page faults: fields 10 and 12, minor and major ones
	// (proc_pid_stat(5)).
	Faults uint64
}

// sources are the files of a thread and how they are read.
var sources = [...]struct {
	name  string
	parse func(v *Waits, text []byte) error
}{
	{"schedstat", func(v *Waits, text []byte) error {
		n, err := numbers(bytes.Fields(text), 1, 2)
		v.Delay, v.Turns = time.Duration(n[0]), n[1]
		return err
	}},
	{"status", func(v *Waits, text []byte) error {
		for line := range bytes.Lines(text) {
			if value, ok := bytes.CutPrefix(line, []byte("voluntary_ctxt_switches:")); ok {
				n, err := numbers(bytes.Fields(value), 0)
				v.Blocked = n[0]
				return err
			}
		}
		return errors.New("no count of switches")
	}},
	{"stat", func(v *Waits, text []byte) error {
		// The name, field 2, is in parentheses and may hold some itself.
		n, err := numbers(bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]), 10-3, 12-3)
		v.Faults = n[0] + n[1]
		return err
	}},
}

// numbers returns some of the fields, or zeros.
func numbers(fields [][]byte, which ...int) (n [2]uint64, err error) {
	for i, at := range which {
		if at >= len(fields) {
			return [2]uint64{}, fmt.Errorf("%d fields, want %d", len(fields), at+1)
		}
		if n[i], err = strconv.ParseUint(string(fields[at]), 10, 63); err != nil {
			return [2]uint64{}, err
		}
	}
	return n, nil
}

// WaitsFile reads the waits of one thread again and again. Its files stay open:
// they are read at each late wake-up, and opening one costs more than reading it.
type WaitsFile struct {
	files [len(sources)]*os.File
	text  []byte
}

// maxText bounds what is read of a file.
const maxText = 1 << 20

// OpenWaits opens the files of a thread of this process below root, which is "/"
// but in tests.
func OpenWaits(root string, tid int) (*WaitsFile, error) {
	w := &WaitsFile{text: make([]byte, 2<<10)}
	for i, s := range sources {
		var err error
		if w.files[i], err = os.Open(filepath.Join(root, "proc/self/task", strconv.Itoa(tid), s.name)); err != nil {
			w.Close()
			return nil, fmt.Errorf("watch run delay: %w", err)
		}
	}
	return w, nil
}

// Close closes the files. A nil WaitsFile has none.
func (w *WaitsFile) Close() {
	if w == nil {
		return
	}
	for _, f := range w.files {
		_ = f.Close() // it was only read; of none it is an error
	}
}

// Read returns the waits up to now.
func (w *WaitsFile) Read() (v Waits, err error) {
	for i, s := range sources {
		text, err := w.read(w.files[i])
		if err == nil {
			err = s.parse(&v, text)
		}
		if err != nil {
			return v, fmt.Errorf("read run delay: %s: %w", w.files[i].Name(), err)
		}
	}
	return v, nil
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
			return nil, fmt.Errorf("more than %d bytes", maxText)
		}
		w.text = make([]byte, 2*len(w.text)) // it is longer
	}
}
