package dotnetipc

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// advertise is what a runtime sends when it dials.
func advertise(cookie byte, pid uint64) []byte {
	var c Cookie
	c[0] = cookie
	b := append([]byte(advertiseMagic), c[:]...)
	return append(binary.LittleEndian.AppendUint64(b, pid), 0, 0)
}

func listen(t *testing.T) (*Listener, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "port")
	l, err := Listen(path, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there after Close", path)
		}
	})
	return l, path
}

// dialPort dials as the runtime does: one connection for one command, and anew
// at once.
func dialPort(t *testing.T, path string, cookie byte, answer answerFunc) {
	t.Helper()
	done := make(chan struct{})
	dial := func() (net.Conn, error) {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return nil, err
		}
		_, err = conn.Write(advertise(cookie, 7))
		return conn, err
	}
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards conn and over
	over := false
	go func() {
		defer close(done)
		for now := conn; ; {
			c, payload, err := decode(now)
			if err != nil {
				_ = now.Close()
				return
			}
			answer(now, c, payload)
			next, err := dial()
			if err != nil {
				return
			}
			mu.Lock()
			now, conn = next, next
			if over {
				_ = conn.Close()
			}
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		mu.Lock()
		over = true
		_ = conn.Close()
		mu.Unlock()
		<-done
	})
}

// TestListener: a runtime that waits is asked, traced and let go on, each over a
// connection of its own.
func TestListener(t *testing.T) {
	l, path := listen(t)
	resumed := make(chan struct{})
	dialPort(t, path, 1, func(conn net.Conn, c command, _ []byte) {
		switch c {
		case processInfo3:
			ok(conn, infoPayload(c))
		case collectTracing5:
			ok(conn, make([]byte, 8))
		case resumeRuntime:
			ok(conn, make([]byte, 4))
			close(resumed)
		default:
			refuse(conn, UnknownCommand)
		}
	})
	ctx := background(t)
	c, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if c.PID != os.Getpid() || c.InnerPID != 7 || c.Cookie[0] != 1 {
		t.Errorf("got %+v", c)
	}
	if info, err := c.ProcessInfo(ctx); err != nil || info.Version != "10.0.9" {
		t.Errorf("got %+v, %v", info, err)
	}
	s, err := c.Collect(ctx, Request{Providers: []Provider{{Name: "P"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := c.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	<-resumed
	// A process has one runtime, whatever cookies it makes up: what it dials is that
	// one's, and nobody is told of another.
	dialPort(t, path, 2, func(conn net.Conn, c command, _ []byte) { ok(conn, infoPayload(c)) })
	await(t, "the second connection", func() bool { return len(c.pending) == 1 })
	if len(l.fresh) != 0 || len(l.callers) != 1 {
		t.Errorf("%d runtimes are new and %d known, want none and one", len(l.fresh), len(l.callers))
	}
	// One that is forgotten and dials again is new.
	c.Forget()
	dialPort(t, path, 2, func(conn net.Conn, _ command, _ []byte) { refuse(conn, Fail) })
	if again, err := l.Accept(ctx); err != nil || again.Cookie[0] != 2 || again == c {
		t.Fatalf("got %+v, %v", again, err)
	}
}

// TestListenerOfOthers: who may dial is asked of the kernel. Of a process that cannot
// be seen it is not known whether it is the same that dials again, so a user has few.
func TestListenerOfOthers(t *testing.T) {
	l, path := listen(t)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the port: %v, %v, want 0600", info.Mode(), err)
	}
	for uid, want := range map[int]bool{0: true, os.Geteuid(): true, 4711: false} {
		if got := l.allows(uid); got != want {
			t.Errorf("uid %d may dial: %v, want %v", uid, got, want)
		}
	}
	openPath := filepath.Join(t.TempDir(), "open")
	open, err := Listen(openPath, ListenOptions{UIDs: []int{4711}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close() }()
	if info, err := os.Stat(openPath); err != nil || info.Mode().Perm() != 0o666 || !open.allows(4711) || open.allows(4712) {
		t.Errorf("mode of the port: %v, %v, want 0666, for 4711", info.Mode(), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range 1000 {
		conn, other := net.Pipe()
		defer func() { _, _ = conn.Close(), other.Close() }()
		l.place(conn, advertisement{}, callerKey{uid: 4711 + i%2, cookie: Cookie{byte(i), byte(i >> 8)}}, 4711+i%2)
	}
	if len(l.callers) != 2*maxUnseenOfUser {
		t.Errorf("%d runtimes of two users, want %d", len(l.callers), 2*maxUnseenOfUser)
	}
}

func TestListenerRefuses(t *testing.T) {
	l, path := listen(t)
	for _, hello := range []string{"GET / HTTP/1.1\r\nHost: localhost.localdomain\r\n\r\n", "ADVR_V1"} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		before := l.Refused()
		if _, err := conn.Write([]byte(hello)); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		await(t, "the connection to be refused", func() bool { return l.Refused() > before })
		_ = conn.Close()
	}
	// More that say nothing than may wait to be heard.
	before := l.Refused()
	for range maxGreetingOfUser + 1 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	await(t, "one too many to be refused", func() bool { return l.Refused() > before })
}

func TestListenerEnds(t *testing.T) {
	l, path := listen(t)
	silent, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	ctx, cancel := context.WithCancel(background(t))
	cancel()
	if _, err := l.Accept(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("accept when cancelled: got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accept(background(t)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept when closed: got %v", err)
	}
}

func TestListenOnWhatIsThere(t *testing.T) {
	_, path := listen(t)
	if _, err := Listen(path, ListenOptions{}); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a port in use: got %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(file, ListenOptions{}); err == nil || !strings.Contains(err.Error(), "choose another path") {
		t.Errorf("a plain file: got %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if _, err := Listen("/"+strings.Repeat("x", 200), ListenOptions{}); err == nil || !strings.Contains(err.Error(), "shorter path") {
		t.Errorf("a long path: got %v", err)
	}
	// What a killed process left is replaced.
	left := filepath.Join(t.TempDir(), "left")
	u, err := net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	u.SetUnlinkOnClose(false)
	_ = u.Close()
	l, err := Listen(left, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(left); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the port: %v, %v, want 0600", info.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzGreeting: whatever is dialled with, one connection makes one runtime at most, a
// second of the same process the same, and a refused one is counted.
func FuzzGreeting(f *testing.F) {
	f.Add(append([]byte(advertiseMagic), make([]byte, advertiseSize-len(advertiseMagic))...), []byte("ADVR_V1"))
	f.Add([]byte("GET / HTTP/1.1"), []byte{})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		path := filepath.Join(t.TempDir(), "port")
		l, err := Listen(path, ListenOptions{})
		if err != nil {
			t.Skip(err)
		}
		defer func() { _ = l.Close() }()
		greeted := uint64(0)
		for _, hello := range [][]byte{first, second} {
			conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_, _ = conn.Write(hello) // it may be refused before it is read
			_ = conn.CloseWrite()
			if len(hello) >= advertiseSize && string(hello[:len(advertiseMagic)]) == advertiseMagic {
				greeted++
			}
		}
		await(t, "both connections to be placed or refused", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.Refused() == 2-greeted && len(l.callers) == int(min(greeted, 1)) && len(l.open) == 0
		})
	})
}

// dialAs dials from a thread that runs as another user.
func dialAs(t *testing.T, uid int, path string) net.Conn {
	t.Helper()
	type result struct {
		conn net.Conn
		err  error
	}
	dialled := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); err != 0 {
			dialled <- result{nil, err}
			return
		}
		conn, err := net.Dial("unix", path)
		dialled <- result{conn, err}
	}()
	r := <-dialled
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() { _ = r.conn.Close() })
	return r.conn
}

// TestListenerAsksTheKernel: of two users one may dial, and the other is turned away
// before he says anything.
func TestListenerAsksTheKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	path := filepath.Join(t.TempDir(), "port")
	open(t, path)
	l, err := Listen(path, ListenOptions{UIDs: []int{4711}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	other := dialAs(t, 4712, path)
	if n, err := other.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("another user: got %d bytes, %v, want an end", n, err)
	}
	if uid, ok := l.Stranger(); l.Refused() != 1 || uid != 4712 || !ok {
		t.Errorf("%d connections were refused, the last of %d, %v, want 1 of 4712", l.Refused(), uid, ok)
	}
	conn := dialAs(t, 4711, path)
	if _, err := conn.Write(advertise(1, 7)); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept(background(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.PID != os.Getpid() || c.Created == 0 {
		t.Errorf("got %+v, want this process", c.Identity)
	}
}

// TestListenerOfOneUser: a user takes no more than his share, and what has ended takes
// nothing, though nobody forgot it.
func TestListenerOfOneUser(t *testing.T) {
	l, _ := listen(t)
	place := func(uid, pid int) bool {
		conn, other := net.Pipe()
		t.Cleanup(func() { _, _ = conn.Close(), other.Close() })
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.place(conn, advertisement{}, callerKey{Identity: Identity{PID: pid, Created: 1}}, uid)
	}
	l.pruned = time.Now().Add(time.Hour) // all of them live
	for i := range maxRuntimesOfUser {
		if !place(4711, 1<<30+i) {
			t.Fatalf("runtime %d of a user is refused", i)
		}
	}
	if place(4711, 1<<29) {
		t.Errorf("a user has more than %d runtimes", maxRuntimesOfUser)
	}
	if !place(4712, 1<<29) {
		t.Error("another user has none")
	}
	l.pruned = time.Time{}
	if !place(4711, 1<<29+1) || len(l.callers) != 1 {
		t.Errorf("%d runtimes are known, want those dropped that have ended", len(l.callers))
	}
}

// TestListenInOneStep: nobody finds the socket with another mode than it is to have.
func TestListenInOneStep(t *testing.T) {
	dir := t.TempDir()
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(watch) }()
	if _, err := unix.InotifyAddWatch(watch, dir, unix.IN_CREATE|unix.IN_ATTRIB|unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	const name = "port"
	l, err := Listen(filepath.Join(dir, name), ListenOptions{AnyUser: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var steps []uint32
	b := make([]byte, 1<<12)
	n, err := unix.Read(watch, b)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < n; {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&b[at]))
		at += unix.SizeofInotifyEvent
		if unix.ByteSliceToString(b[at:at+int(e.Len)]) == name {
			steps = append(steps, e.Mask)
		}
		at += int(e.Len)
	}
	if diff := cmp.Diff([]uint32{unix.IN_CREATE}, steps); diff != "" {
		t.Errorf("what happened to the socket (-want +got):\n%s", diff)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("got %v, %v, want the socket alone", left, err)
	}
}
