package hostcount

import (
	"bytes"
	"io/fs"
	"path"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
)

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
