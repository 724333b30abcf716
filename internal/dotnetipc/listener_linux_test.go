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
	l, err := Listen(path)
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
	// A second runtime is another one; the first is not told again.
	dialPort(t, path, 2, func(conn net.Conn, _ command, _ []byte) { refuse(conn, Fail) })
	second, err := l.Accept(ctx)
	if err != nil || second.Cookie[0] != 2 {
		t.Fatalf("got %+v, %v", second, err)
	}
	// One that is forgotten and dials again is new.
	second.Forget()
	dialPort(t, path, 2, func(conn net.Conn, _ command, _ []byte) { refuse(conn, Fail) })
	if third, err := l.Accept(ctx); err != nil || third.Cookie[0] != 2 || third == second {
		t.Fatalf("got %+v, %v", third, err)
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
	for range maxGreeting + 1 {
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
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a port in use: got %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(file); err == nil || !strings.Contains(err.Error(), "choose another path") {
		t.Errorf("a plain file: got %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if _, err := Listen("/" + strings.Repeat("x", 200)); err == nil || !strings.Contains(err.Error(), "shorter path") {
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
	l, err := Listen(left)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(left); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("mode of the port: %v, %v, want 0666", info.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
