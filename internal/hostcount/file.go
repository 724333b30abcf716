package hostcount

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
)

// maxFile bounds what is read of a file.
const maxFile = 1 << 16

// file is a file that is read again and again: it stays open, as opening it
// costs more than reading it.
type file struct {
	root  fs.FS
	name  string
	first bool // only what fits at first is wanted
	open  fs.File
	text  []byte
}

// read returns what the file holds now. It is valid until the next call.
func (f *file) read() ([]byte, error) {
	if f.open == nil {
		open, err := f.root.Open(f.name)
		if err != nil {
			return nil, err
		}
		f.open = open
	}
	at, ok := f.open.(io.ReaderAt)
	if !ok {
		return nil, fmt.Errorf("read /%s: %w", f.name, errors.ErrUnsupported)
	}
	if f.text == nil {
		f.text = make([]byte, 512)
	}
	for {
		n, err := at.ReadAt(f.text, 0)
		switch {
		case err == nil && !f.first && len(f.text) < maxFile:
			// It is longer, and another read would show another moment.
			f.text = make([]byte, 2*len(f.text))
			continue
		case err != nil && !errors.Is(err, io.EOF):
			f.close()
			return nil, err
		}
		return f.text[:n], nil
	}
}

func (f *file) close() {
	if f.open != nil {
		_ = f.open.Close() // it was only read
		f.open = nil
	}
}

// field returns the n-th of the fields of text between blanks, from 0; nil if
// there are fewer.
func field(text []byte, n int) []byte {
	for {
		text = bytes.TrimLeft(text, " \t\n")
		if len(text) == 0 {
			return nil
		}
		end := bytes.IndexAny(text, " \t\n")
		if end < 0 {
			end = len(text)
		}
		if n == 0 {
			return text[:end]
		}
		text = text[end:]
		n--
	}
}

// number parses a decimal number, and reports false for anything else.
func number(text []byte) (n uint64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' || n > (1<<63-1)/10-1 {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, len(text) > 0
}

// Pressure is how long some thread waited for what it needed, of the machine or
// of a cgroup (Documentation/accounting/psi.rst, "some"). It says that some
// thread waited, not which: it decides nothing. What the kernel never said is zero.
type Pressure struct {
	CPU    time.Duration `json:"cpu"`
	Memory time.Duration `json:"memory"` // for pages to be freed, or to come back from disk
	IO     time.Duration `json:"io"`
}

// Since returns what was added to q up to p.
func (p Pressure) Since(q Pressure) Pressure {
	return Pressure{max(0, p.CPU-q.CPU), max(0, p.Memory-q.Memory), max(0, p.IO-q.IO)}
}

// Pressure returns that of the machine.
func (p *Process) Pressure() Pressure { return p.pressed.read() }

// GroupPressure returns that of the process's own cgroup. It reports false where
// there is none of cgroup v2, or the process is at the top, where it would be the
// machine's.
func (p *Process) GroupPressure() (Pressure, bool) {
	if p.grouped == nil {
		return Pressure{}, false
	}
	return p.grouped.read(), true
}

// pressed reads the files of one pressure.
type pressed struct {
	files [3]file // in the order of Pressure
	last  Pressure
}

func pressedOf(root fs.FS, prefix, suffix string) (p pressed) {
	for i, name := range [...]string{"cpu", "memory", "io"} {
		p.files[i] = file{root: root, name: prefix + name + suffix}
	}
	return p
}

// groupPressed finds the files of a process's own cgroup, nil for none. All
// cgroups but the top have cgroup.events
// (Documentation/admin-guide/cgroup-v2.rst).
func groupPressed(root fs.FS, proc string) *pressed {
	groups, err := cgroup.Unified(root, proc)
	if err != nil || len(groups) == 0 {
		return nil
	}
	for _, name := range []string{"cgroup.events", "cpu.pressure"} {
		if _, err := fs.Stat(root, path.Join(groups[0].Dir, name)); err != nil {
			return nil
		}
	}
	p := pressedOf(root, groups[0].Dir+"/", ".pressure")
	return &p
}

// read returns what the files say now. What cannot be read for once is what it
// was.
func (p *pressed) read() Pressure {
	for i, to := range []*time.Duration{&p.last.CPU, &p.last.Memory, &p.last.IO} {
		text, err := p.files[i].read()
		if err != nil {
			continue
		}
		first, _, _ := bytes.Cut(text, []byte("\n"))
		_, total, _ := bytes.Cut(first, []byte("total="))
		if us, ok := number(total); ok {
			*to = time.Duration(min(us, 1<<62/1000)) * time.Microsecond
		}
	}
	return p.last
}

func (p *pressed) close() {
	for i := range p.files {
		p.files[i].close()
	}
}

// freezer reads whether a cgroup of the process is frozen.
type freezer struct {
	file file
	line []byte // that says so
}

// freezersOf finds those of a process, none where that is not known.
func freezersOf(root fs.FS, proc string) (list []freezer) {
	found, err := cgroup.Freezers(root, proc)
	if err != nil {
		return nil
	}
	for _, f := range found {
		list = append(list, freezer{file{root: root, name: f.File}, []byte(f.Line)})
	}
	return list
}

// freezes reports false of what cannot be read.
func (f *freezer) freezes() bool {
	text, err := f.file.read()
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if bytes.Equal(bytes.TrimSuffix(line, []byte("\n")), f.line) {
			return true
		}
	}
	return false
}
