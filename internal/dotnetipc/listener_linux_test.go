package dotnetipc

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
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
	open, err := Listen(filepath.Join(t.TempDir(), "open"), ListenOptions{UIDs: []int{4711}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close() }()
	if info, err := os.Stat(open.listener.Addr().String()); err != nil || info.Mode().Perm() != 0o666 || !open.allows(4711) || open.allows(4712) {
		t.Errorf("mode of the port: %v, %v, want 0666, for 4711", info.Mode(), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range 1000 {
		conn, other := net.Pipe()
		defer func() { _, _ = conn.Close(), other.Close() }()
		l.place(conn, advertisement{}, callerKey{uid: 4711 + i%2, cookie: Cookie{byte(i), byte(i >> 8)}})
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
