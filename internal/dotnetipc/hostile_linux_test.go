package dotnetipc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestTempDirIsNoPattern: a process names one directory, whatever it writes.
func TestTempDirIsNoPattern(t *testing.T) {
	m := newMachine(t, "TMPDIR=/x/*/*/*")
	m.bind("/x/a/b/c", socketName(m.inner, created-1))
	if _, err := m.proc.Locate(os.Getpid()); errors.Is(err, ErrStaleSocket) || !errors.Is(err, ErrNoSocket) {
		t.Errorf("got %v, want %v: the directory is not there", err, ErrNoSocket)
	}
	m.bind("/x/*/*/*", socketName(m.inner, created-1))
	if _, err := m.proc.Locate(os.Getpid()); !errors.Is(err, ErrStaleSocket) {
		t.Errorf("got %v, want %v", err, ErrStaleSocket)
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
		if _, err := m.proc.Locate(os.Getpid()); !errors.Is(err, ErrNoSocket) {
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
	got, err := proc.Runtimes()
	if len(got) != 1 {
		t.Errorf("found %v, want one: the table is read once", got)
	}
	if err == nil || !strings.Contains(err.Error(), "more sockets than are looked at") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error: got %v, want one line that says so", err)
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
