package gouprobe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// code reads the first byte of each instruction that is probed, in the memory of a
// process that is loaded where its file says.
func (p *targetProcess) code(s sites) (bytes []byte) {
	p.t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.pid()))
	if err != nil {
		p.t.Skipf("cannot read the memory of another process: %v", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	b := make([]byte, 1)
	for _, at := range append([]uint64{s.push}, s.returns...) {
		if _, err := f.ReadAt(b, int64(s.entry+at-s.first)); err != nil {
			p.t.Fatal(err)
		}
		bytes = append(bytes, b[0])
	}
	return bytes
}

const breakpoint, pushBP, ret = 0xcc, 0x55, 0xc3

// probed reports whether all probes are in a process. It is an error if only some are.
func (p *targetProcess) probed(s sites) bool {
	p.t.Helper()
	code := p.code(s)
	switch string(code) {
	case string([]byte{breakpoint, breakpoint}):
		return true
	case string([]byte{pushBP, ret}):
		return false
	}
	p.t.Fatalf("the code of the process is % x", code)
	return false
}

func (p *targetProcess) sites() sites {
	p.t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/exe", p.pid()))
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	s, err := find(f, releases["go1.26"])
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// TestDetach attaches and detaches many times under load: the process works on, its
// code is as it was, and each time its stops are seen.
func TestDetach(t *testing.T) {
	p := start(t, build(t, "local"))
	code := p.sites()
	p.tell("work 1500")
	saw := 0
	for range 200 {
		s := attachTo(t, p.pid())
		if !p.probed(code) {
			t.Fatal("attached, and nothing is")
		}
		wait := follow(t, s)
		time.Sleep(10 * time.Millisecond) // no time is too short
		all := stop(t, s, wait)
		saw += len(all.intervals)
		if p.probed(code) {
			t.Fatal("detached, and the probes are there")
		}
		if err := s.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
	}
	if a := p.hear(); a.Sum != 42 || a.Collections < 3000 {
		t.Errorf("the target answers %+v, want 42 after 3000 collections", a)
	}
	if saw == 0 {
		t.Error("no stop was seen in 50 times")
	}
	t.Logf("%d stops", saw)
}

// TestAttachInTheMidst: what follows an attach under load is as exact as any.
func TestAttachInTheMidst(t *testing.T) {
	p := start(t, build(t, "local"))
	p.ask("stats")
	for work := 400; ; work *= 2 {
		p.tell(fmt.Sprint("work ", work))
		s := attachTo(t, p.pid())
		wait := follow(t, s)
		before := p.hear()
		after := p.ask("work 50")
		all := stop(t, s, wait)
		earlier := len(all.collections) - int(after.Collections-before.Collections)
		if earlier == 0 && work < 10_000 {
			continue // the work was over before the attach
		}
		if earlier < 1 || earlier > int(before.Collections) {
			t.Fatalf("%d collections were seen before the last %d", earlier, after.Collections-before.Collections)
		}
		all.midst = true
		all.check(t, s, before, after, earlier)
		return
	}
}

// TestReplaced: a program is probed by the file that it runs, whatever has its name.
func TestReplaced(t *testing.T) {
	exe := build(t, "local")
	replace := func(by []byte) {
		t.Helper()
		if err := os.WriteFile(exe+".new", by, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(exe+".new", exe); err != nil {
			t.Fatal(err)
		}
	}
	other, err := os.ReadFile(build(t, "local", "-gcflags=-N"))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, exe)
	code := p.sites()
	replace(other) // before
	q := start(t, exe)
	s := attachTo(t, p.pid())
	wait := follow(t, s)
	if !p.probed(code) || q.probed(q.sites()) {
		t.Error("not the process is probed, but the one that runs what has its name now")
	}
	before := p.ask("stats")
	p.ask("work 20")
	replace([]byte("#!/bin/sh\n")) // during
	after := p.ask("work 20")
	q.ask("work 20")
	all := stop(t, s, wait)
	all.check(t, s, before, after, 1)
	if p.probed(code) {
		t.Error("detached, and the probes are there")
	}
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	s = attachTo(t, p.pid())
	wait = follow(t, s)
	before = p.ask("stats")
	after = p.ask("work 20")
	stop(t, s, wait).check(t, s, before, after, 1)
}

// TestNeighbour: another process of the same file is left alone.
func TestNeighbour(t *testing.T) {
	exe := build(t, "local")
	p, q := start(t, exe), start(t, exe)
	s := attachTo(t, p.pid())
	if !p.probed(p.sites()) || q.probed(q.sites()) {
		t.Error("the probes are not in the one process, or in the other, too")
	}
	wait := follow(t, s)
	q.ask("work 20")
	if all := stop(t, s, wait); len(all.intervals) > 0 {
		t.Errorf("%d stops of another process", len(all.intervals))
	}
}

// TestKilled: who is killed leaves nothing behind.
func TestKilled(t *testing.T) {
	p := start(t, build(t, "local"))
	stop := attachTo(t, p.pid()) // or skip
	if err := stop.Close(); err != nil {
		t.Fatal(err)
	}
	code := p.sites()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"=stay", fmt.Sprint(pidVariable, "=", p.pid()))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, err := out.Read(b)
	if got := string(b[:n]); got != "<nil>\n" {
		t.Errorf("attach: got %q, %v", got, err)
	} else if !p.probed(code) {
		t.Error("attached, and nothing is")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // killed
	for since := time.Now(); p.probed(code); time.Sleep(time.Millisecond) {
		if time.Since(since) > time.Minute {
			t.Fatal("the probes of one that was killed are still there")
		}
	}
	if a := p.ask("work 20"); a.Sum != 42 {
		t.Errorf("the target answers %+v, want 42", a)
	}
}

// TestRights: a user who is not root needs two capabilities. With fewer of them the
// error says so.
func TestRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot become another user with capabilities")
	}
	exe := build(t, "local")
	for dir := filepath.Dir(exe); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	own := start(t, exe, asUser(nobody))
	roots := start(t, exe)
	rights := "attach to process %d: permission denied (needs CAP_BPF and CAP_PERFMON; see otelgc-sidecar doctor)"
	read := "attach to process %d: open /proc/%[1]d/auxv: permission denied (needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or to be its user; see otelgc-sidecar doctor)"
	for _, test := range []struct {
		pid  int
		caps []uintptr
		want string
	}{
		{own.pid(), []uintptr{unix.CAP_BPF, unix.CAP_PERFMON}, "<nil>"},
		{own.pid(), []uintptr{unix.CAP_BPF}, rights},
		{own.pid(), []uintptr{unix.CAP_PERFMON}, rights},
		{own.pid(), nil, rights},
		{roots.pid(), []uintptr{unix.CAP_BPF, unix.CAP_PERFMON}, read},
	} {
		cmd := exec.Command("/proc/self/exe") // the binary may lie where nobody may look
		cmd.Env = append(os.Environ(), roleVariable+"=attach", fmt.Sprint(pidVariable, "=", test.pid))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, AmbientCaps: test.caps}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("cannot run as another user: %v: %s", err, out)
		}
		want := test.want
		if strings.Contains(want, "%") {
			want = fmt.Sprintf(want, test.pid)
		}
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("process %d, capabilities %v: got %q, want %q", test.pid, test.caps, got, want)
		}
	}
}
