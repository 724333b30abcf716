package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
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
		m.loadBPF = func() error { return nil }
		if c := checkOf(t, m, "rights.bpf"); c.Status != want || (want == Info) != strings.Contains(c.Advice, "hostPID") {
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
			m.loadBPF = func() error { return test.load }
			test.want.check(t, checkOf(t, m, "rights.bpf"))
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
		want.check(t, checkOf(t, m, "rights.bpf.switch"))
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
			test.want.check(t, checkOf(t, m, "rights.tracefs"))
		})
	}
}

// TestTheProbeHasTheLastWord: what the rights allow and the probe cannot do is
// not decidable.
func TestTheProbeHasTheLastWord(t *testing.T) {
	f := readFake(t, "testdata/metal.txtar")
	l := f.live()
	report, err := run(root{f.files}, "amd64", l, f.ask(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(report.Decidable, "host.steal") || slices.Contains(report.Decidable, "host.irq_or_steal") {
		t.Errorf("decidable with all rights: %v", report.Decidable)
	}
	l.selfTest = func(o jitterprobe.Options, d time.Duration) (jitterprobe.Trial, error) {
		if !o.Interrupts {
			t.Error("the self-test does not ask for interrupts")
		}
		trial := goodTrial(d)
		trial.Limits = []jitterprobe.Limit{{Causes: []stall.Cause{stall.HostIRQ, stall.HostSteal}, Why: "no events", Mend: "mount tracefs"}}
		return trial, nil
	}
	if report, err = run(root{f.files}, "amd64", l, f.ask(t)); err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Causes {
		limited := c.Cause == "host.irq" || c.Cause == "host.steal"
		if c.Decidable == limited || limited && c.Needs != "mount tracefs" {
			t.Errorf("cause %+v", c)
		}
	}
	// Without a self-test a probe is asked all the same.
	o := f.ask(t)
	o.SelfTest = -1
	l.limits = func(jitterprobe.Options) ([]jitterprobe.Limit, error) { return nil, errors.New("no thread") }
	without, err := run(root{f.files}, "amd64", l, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(without.Decidable) > 0 || len(without.Causes) != len(allCauses) || without.Causes[0].Needs != "the probe cannot run: no thread" {
		t.Errorf("decidable without a probe: %v; %+v", without.Decidable, without.Causes)
	}
	if !slices.Contains(report.Decidable, "host.irq_or_steal") {
		t.Errorf("decidable with a limit: %v", report.Decidable)
	}
}
