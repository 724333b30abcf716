package doctor

import (
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
		m.perfThread, m.perfCPU = func() error { return nil }, func(int) error { return nil }
		r := m.rights()
		if c := r.bpfCheck(); c.Status != want || (want == Info) != strings.Contains(c.Advice, "hostPID") {
			t.Errorf("%q: got %+v, want %s", link, c, want)
		}
	}
}
