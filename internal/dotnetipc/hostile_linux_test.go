package dotnetipc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/hungcall"
)

// TestTempDirIsNoPattern: a process names one directory, whatever it writes.
func TestTempDirIsNoPattern(t *testing.T) {
	m := newMachine(t, "TMPDIR=/x/*/*/*")
	m.bind("/x/a/b/c", socketName(m.inner, created-1))
	if _, err := m.proc.Locate(t.Context(), os.Getpid()); errors.Is(err, ErrStaleSocket) || !errors.Is(err, ErrNoSocket) {
		t.Errorf("got %v, want %v: the directory is not there", err, ErrNoSocket)
	}
	m.bind("/x/*/*/*", socketName(m.inner, created-1))
	if _, err := m.proc.Locate(t.Context(), os.Getpid()); !errors.Is(err, ErrStaleSocket) {
		t.Errorf("got %v, want %v", err, ErrStaleSocket)
	}
}

// TestTempDirOfLinks: links of a directory to itself cost nothing.
func TestTempDirOfLinks(t *testing.T) {
	const links, depth = 10, 5
	m := newMachine(t, "TMPDIR=/x"+strings.Repeat("/*", depth))
	for i := range links {
		path := filepath.Join(m.root, "x", fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(".", path); err != nil {
			t.Fatal(err)
		}
	}
	bytes := allocated(func() {
		if _, err := m.proc.Locate(t.Context(), os.Getpid()); !errors.Is(err, ErrNoSocket) {
			t.Errorf("got %v, want %v", err, ErrNoSocket)
		}
	})
	if most := uint64(1 << 20); bytes > most {
		t.Errorf("%d bytes were allocated, want at most %d", bytes, most)
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestFilesThatHang: a process whose file system never answers holds nobody up who
// is told to end, and costs one call.
func TestFilesThatHang(t *testing.T) {
	m := newMachine(t, "TMPDIR=/dead/tmp")
	m.proc.Calls = new(hungcall.Limiter)
	dead := filepath.Join(m.root, "dead")
	if err := os.Mkdir(dead, 0o755); err != nil {
		t.Fatal(err)
	}
	fuse, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("open /dev/fuse: %v", err)
	}
	// Nobody ever reads what the kernel asks for.
	if err := unix.Mount("dead", dead, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse)); err != nil {
		_ = unix.Close(fuse)
		t.Skipf("mount a file system of FUSE: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dead, unix.MNT_DETACH) })
	m.program("/dead/Shop", "/", "Shop")
	for name, look := range map[string]func(context.Context) error{
		"Locate":        func(ctx context.Context) error { _, err := m.proc.Locate(ctx, os.Getpid()); return err },
		"RuntimeConfig": func(ctx context.Context) error { _, err := m.proc.RuntimeConfig(ctx, os.Getpid()); return err },
		"dial": func(ctx context.Context) error {
			e := m.want("/dead/tmp")
			e.Calls = m.proc.Calls
			_, err := NewClient(e).ProcessInfo(ctx)
			return err
		},
	} {
		m.proc.Calls = new(hungcall.Limiter)
		for m.proc.Calls.Left() == 0 { // it may be too late before it has begun
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			if err := look(ctx); err == nil {
				t.Fatalf("%s: no error", name)
			}
			cancel()
		}
		for range 10 {
			if err := look(t.Context()); !errors.Is(err, hungcall.ErrHangs) {
				t.Errorf("%s: got %v, want %v", name, err, hungcall.ErrHangs)
			}
		}
		if n := m.proc.Calls.Left(); n != 1 {
			t.Errorf("%s: %d calls were left hanging, want 1", name, n)
		}
	}
	_ = unix.Close(fuse) // which ends them
}

// TestManyWords: what a process is started with is kept as far as somebody asks for it.
func TestManyWords(t *testing.T) {
	m := newMachine(t)
	m.write("cmdline", strings.Repeat("\x00", maxProcFile))
	got, err := m.proc.Arguments(t.Context(), os.Getpid())
	if err != nil || len(got) != maxArguments {
		t.Errorf("got %d arguments, %v, want %d", len(got), err, maxArguments)
	}
	var b strings.Builder
	for i := range 4 * maxVariables {
		fmt.Fprintf(&b, "DOTNET_gc%d=\x00", i)
	}
	m.write("environ", b.String())
	if got, err := m.proc.Environment(t.Context(), os.Getpid()); err == nil || len(got) > 0 {
		t.Errorf("got %d variables, %v, want an error", len(got), err)
	}
	m.write("environ", "TMPDIR=/"+strings.Repeat("\x1b[2J", 1<<16)+"\x00")
	_, err = m.proc.Locate(t.Context(), os.Getpid())
	if text := oneLine(t, err); len(text) > 1<<11 || strings.Contains(text, "\x1b") {
		t.Errorf("a message of %d bytes: %.100q", len(text), text)
	}
}

// TestTempDirOfMany: only so much of a directory is read.
func TestTempDirOfMany(t *testing.T) {
	m := newMachine(t, "TMPDIR=/many")
	dir := filepath.Join(m.root, "many")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 4 * maxEntries {
		if err := os.Symlink("none", filepath.Join(dir, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	allocs := testing.AllocsPerRun(1, func() {
		if _, err := m.proc.Locate(t.Context(), os.Getpid()); !errors.Is(err, ErrNoSocket) {
			t.Errorf("got %v, want %v", err, ErrNoSocket)
		}
	})
	if allocs > 2*maxEntries {
		t.Errorf("%v allocations for a directory of %d entries, want at most %d", allocs, 4*maxEntries, 2*maxEntries)
	}
}

// TestUnixTableTooLarge: a table that is too large is read once, what was read of it
// counts, and the rest is said.
func TestUnixTableTooLarge(t *testing.T) {
	proc := Proc{Root: t.TempDir()}
	const processes = 5
	for pid := 1; pid <= processes; pid++ {
		dir := proc.path(pid, "")
		if err := os.MkdirAll(filepath.Join(dir, "ns"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "net"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("net:[1]", filepath.Join(dir, "ns/net")); err != nil {
			t.Fatal(err)
		}
		// All are in one namespace, but each table lists another socket, so that it
		// shows which ones are read.
		for name, text := range map[string]string{
			"stat":     fmt.Sprintf("%d (shop) S %s%d 0 0\n", pid, strings.Repeat("1 ", 18), created),
			"status":   fmt.Sprintf("NSpid:\t%d\n", pid),
			"net/unix": fmt.Sprintf("0: 2 0 00010000 0001 01 1 /tmp/%s\n", socketName(pid, created)),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Truncate(filepath.Join(dir, "net/unix"), maxUnixTable+1); err != nil {
			t.Fatal(err)
		}
	}
	got, err := proc.Runtimes(t.Context())
	if len(got) != 1 {
		t.Errorf("found %v, want one: the table is read once", got)
	}
	if err == nil || !strings.Contains(err.Error(), "has more sockets than") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error: got %v, want one line that says so", err)
	}
}

// TestSocketsOfNobody: sockets that are named after no process displace none.
func TestSocketsOfNobody(t *testing.T) {
	m := newMachine(t)
	proc := m.proc
	names := func(pid int, ns string, table string) {
		dir := proc.path(pid, "")
		for _, sub := range []string{"ns", "net"} {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(ns, filepath.Join(dir, "ns/net")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "net/unix"), []byte(table), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var lies strings.Builder
	for i := range 1 << 15 {
		fmt.Fprintf(&lies, "0: 2 0 00010000 0001 01 1 /tmp/%s\n", socketName(1<<20+i, created))
	}
	names(1, "net:[1]", lies.String())
	names(os.Getpid(), "net:[2]", "0: 2 0 00010000 0001 01 1 /tmp/"+socketName(m.inner, created)+"\n")
	got, err := proc.Runtimes(t.Context())
	if diff := cmp.Diff([]Identity{{os.Getpid(), created}}, got); diff != "" || err != nil {
		t.Errorf("%v, runtimes (-want +got):\n%s", err, diff)
	}
}

// TestSocketOfAnotherUser: a socket of a process's name that another user has made
// elsewhere is not taken for the process's.
func TestSocketOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a file to another user")
	}
	const own, lie = "/own", "/lie"
	for _, c := range []struct {
		temp string
		dirs []string
	}{{"/none", []string{own, lie}}, {"/none", []string{lie, own}}, {lie, []string{own}}} {
		m := newMachine(t, "TMPDIR="+c.temp)
		m.write("status", fmt.Sprintf("NSpid:\t%d\nUid:\t0\t0\t0\t0\n", m.inner))
		want := m.want(own)
		var paths []string
		for _, dir := range c.dirs {
			paths = append(paths, dir+"/"+want.Name)
		}
		m.bind(own, want.Name)
		m.bind(lie, want.Name)
		if err := os.Chown(filepath.Join(m.root, lie, want.Name), 4711, 4711); err != nil {
			t.Fatal(err)
		}
		m.table(paths...)
		got, err := m.proc.Locate(t.Context(), os.Getpid())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("TMPDIR %s, bound to %v: %v (-want +got):\n%s", c.temp, c.dirs, err, diff)
		}
	}
}

// TestPipeIsNotOpened: what a process puts in the place of a file is not even opened.
func TestPipeIsNotOpened(t *testing.T) {
	root := t.TempDir()
	pipe := filepath.Join(root, "shop.runtimeconfig.json")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(watch) }()
	if _, err := unix.InotifyAddWatch(watch, pipe, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	if _, err := readInRoot(root, "/shop.runtimeconfig.json", 100); err == nil || !strings.Contains(err.Error(), "no plain file") {
		t.Errorf("got %v, want that it is no plain file", err)
	}
	if n, err := unix.Read(watch, make([]byte, 256)); err != unix.EAGAIN {
		t.Errorf("the pipe was opened: %d bytes of events, %v", n, err)
	}
}

// TestNoOpenat2: where the kernel cannot keep a path inside of a root, nothing is
// opened.
func TestNoOpenat2(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := refuseOpenat2(); err != nil {
			errs <- err
			return
		}
		_, err := readInRoot(root, "/file", 100)
		errs <- err
	}()
	if err := <-errs; !errors.Is(err, errOpenat2) {
		t.Errorf("got %v, want %v", err, errOpenat2)
	}
	if text, err := readInRoot(root, "/file", 100); err != nil || string(text) != "text" {
		t.Errorf("with openat2: got %q, %v", text, err)
	}
}

// refuseOpenat2 has the kernel answer this thread that there is no openat2.
func refuseOpenat2() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_OPENAT2},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("set seccomp filter: %w", err)
	}
	return nil
}
