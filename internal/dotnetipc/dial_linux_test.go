package dotnetipc

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDialStale(t *testing.T) {
	f := newFake(t, nil)
	f.listener.SetUnlinkOnClose(false)
	if err := f.listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := f.client().ProcessInfo(background(t))
	if !errors.Is(err, ErrStaleSocket) || !strings.Contains(oneLine(t, err), "was killed") {
		t.Errorf("got %v, want ErrStaleSocket", err)
	}
	if err := os.Remove(f.endpoint.Path()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client().ProcessInfo(background(t)); !errors.Is(err, ErrNoSocket) {
		t.Errorf("without the file: got %v, want ErrNoSocket", err)
	}
}

// TestDialOtherProcess: a socket of the right name that somebody else made.
func TestDialOtherProcess(t *testing.T) {
	f := newFake(t, func(conn net.Conn, c command, _ []byte) { ok(conn, infoPayload(c)) })
	f.endpoint.PID = 1
	_, err := f.client().ProcessInfo(background(t))
	if !errors.Is(err, ErrOtherProcess) {
		t.Errorf("got %v, want ErrOtherProcess", err)
	}
	if asked := f.asked(); len(asked) != 0 {
		t.Errorf("the other process was asked %v", asked)
	}
}

func TestDialNotASocket(t *testing.T) {
	f := newFake(t, nil)
	path := f.endpoint.Path()
	_ = f.listener.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client().ProcessInfo(background(t)); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a plain file: got %v", err)
	}
}

// TestDialStaysInside: a symbolic link of the target's own root leads nowhere
// but there.
func TestDialStaysInside(t *testing.T) {
	f := newFake(t, func(conn net.Conn, c command, _ []byte) { ok(conn, infoPayload(c)) })
	if err := os.Symlink("/tmp", filepath.Join(f.endpoint.Root, "link")); err != nil {
		t.Fatal(err)
	}
	f.endpoint.Dir = "/link"
	if _, err := f.client().ProcessInfo(background(t)); err != nil {
		t.Errorf("through a link that is absolute inside the root: %v", err)
	}
}

// TestDialLongPath: a root deep below a mount makes a path that fits no
// sockaddr.
func TestDialLongPath(t *testing.T) {
	f := newFake(t, nil)
	_ = f.listener.Close()
	deep := filepath.Join(f.endpoint.Root, strings.Repeat("d", 100))
	if err := os.Mkdir(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(f.endpoint.Root, "tmp"), filepath.Join(deep, "tmp")); err != nil {
		t.Fatal(err)
	}
	// A relative path to bind, an absolute one to connect to.
	t.Chdir(filepath.Join(deep, "tmp"))
	f.endpoint.Root, f.endpoint.Dir = "", ""
	f.serve(func(conn net.Conn, c command, _ []byte) { ok(conn, infoPayload(c)) })
	f.endpoint.Root, f.endpoint.Dir = deep, "/tmp"
	if len(f.endpoint.Path()) <= maxSocketPath {
		t.Fatalf("%s is not long enough", f.endpoint.Path())
	}
	if _, err := f.client().ProcessInfo(background(t)); err != nil {
		t.Error(err)
	}
}

// TestDialPermission drops the rights of this thread over files.
func TestDialPermission(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	f := newFake(t, func(conn net.Conn, c command, _ []byte) { ok(conn, infoPayload(c)) })
	if err := os.Chmod(f.endpoint.Path(), 0o600); err != nil {
		t.Fatal(err)
	}
	// t.TempDir is open to its owner only, from its parent on.
	open(t, f.endpoint.Path())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := unix.SetfsuidRetUid(65534); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := unix.SetfsuidRetUid(0); err != nil {
			t.Fatal(err)
		}
	}()
	_, err := dial(background(t), f.endpoint) // on this thread
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(oneLine(t, err), "run as the process's user") ||
		strings.Contains(err.Error(), "/proc/self/fd") {
		t.Errorf("got %v, want the permission and the mend", err)
	}
}

// open lets everybody enter the directories above path, below the system's.
func open(t *testing.T, path string) {
	t.Helper()
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
