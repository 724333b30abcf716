package doctor

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// TestPIDNamespace: with all capabilities, threads are followed only where the
// kernel has the same ids.
func TestPIDNamespace(t *testing.T) {
	for link, want := range map[string]Status{initialPIDs: OK, "pid:[4026532301]": Info, "": OK} {
		files := fstest.MapFS{"sys/kernel/btf/vmlinux": {}}
		if link != "" {
			files["proc/self/ns/pid"] = &fstest.MapFile{Data: []byte(link), Mode: fs.ModeSymlink}
		}
		m := &machine{root: root{files}, status: "CapEff:\t000001ffffffffff\nSeccomp:\t0\n", cpu: -1}
		m.perfThread, m.perfCPU, m.loadBPF = func() error { return nil }, func(int) error { return nil }, func() error { return nil }
		r := m.rights()
		if c := r.bpfCheck(); c.Status != want || (want == Info) != strings.Contains(c.Advice, "hostPID") {
			t.Errorf("%q: got %+v, want %s", link, c, want)
		}
	}
}

// TestLoadBPF: the kernel is asked, since neither capabilities nor a filter say
// what it allows.
func TestLoadBPF(t *testing.T) {
	const all, none, filter, open = "CapEff:\t000001ffffffffff\n", "CapEff:\t0\n", "Seccomp:\t2\n", "Seccomp:\t0\n"
	refused := fmt.Errorf("bpf: %w", fs.ErrPermission)
	for _, test := range []struct {
		name, status string
		load         error
		btf          bool
		want         verdict
	}{
		{"a filter that allows it", all + filter, nil, true, verdict{OK, "BTF", ""}},
		{"a filter that does not", all + filter, refused, true, verdict{Info, "refused: permission denied", "allow bpf in seccomp"}},
		{"a user namespace", all + open, refused, true, verdict{Info, "refused: permission denied", "in a user namespace"}},
		{"no capabilities", none + filter, refused, true, verdict{Info, "refused: permission denied", "add CAP_BPF and CAP_PERFMON"}},
		{"no BTF", all + open, nil, false, verdict{Info, "no BTF", "estimated from counters"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := filesOf()
			if test.btf {
				files = filesOf("sys/kernel/btf/vmlinux", "")
			}
			m := &machine{root: root{files}, status: test.status, cpu: -1}
			m.perfThread, m.perfCPU, m.loadBPF = func() error { return nil }, func(int) error { return nil }, func() error { return test.load }
			r := m.rights()
			test.want.check(t, r.bpfCheck())
		})
	}
}

// TestWhoMayLoadBPF: no value of the switch takes the place of capabilities.
func TestWhoMayLoadBPF(t *testing.T) {
	for text, want := range map[string]verdict{
		"0\n": {Info, "0", "CAP_BPF and CAP_PERFMON all the same"},
		"1\n": {OK, "until the next boot", ""},
		"2\n": {OK, "2: CAP_BPF only", ""},
		"x\n": {NA, "not a number", ""},
		"":    {NA, "no such file", ""},
	} {
		files := filesOf()
		if text != "" {
			files = filesOf("proc/sys/kernel/unprivileged_bpf_disabled", text)
		}
		m := &machine{root: root{files}}
		want.check(t, m.bpfSwitch())
	}
}

// closed is a file system of which one directory may not be read.
type closed struct {
	fs.FS
	name string
}

func (c closed) Open(name string) (fs.File, error) {
	if name == c.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.FS.Open(name)
}

// TestTracefs: that it may not be read is told from that it is not there.
func TestTracefs(t *testing.T) {
	there := filesOf("sys/kernel/tracing/events/x", "")
	for _, test := range []struct {
		name string
		fs.FS
		caps string
		want verdict
	}{
		{"readable", there, "0", verdict{OK, "/sys/kernel/tracing", ""}},
		{"not readable", closed{there, "sys/kernel/tracing/events"}, "0", verdict{Info, "permission denied", "CAP_DAC_READ_SEARCH"}},
		{"not there", filesOf(), "0", verdict{Info, "not to be seen", "CAP_SYS_ADMIN"}},
		{"not there, and can be", filesOf(), "1ffffffffff", verdict{Info, "CAP_SYS_ADMIN can reach it", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &machine{root: root{test.FS}, status: "CapEff:\t" + test.caps + "\n"}
			m.perfThread, m.perfCPU, m.loadBPF = func() error { return nil }, func(int) error { return nil }, func() error { return nil }
			r := m.rights()
			test.want.check(t, r.tracefsCheck())
		})
	}
}
