package dotnetipc_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
)

// TestAzmcp talks to one real process from its start to its end.
func TestAzmcp(t *testing.T) {
	ctx := background(t)
	server := dotnettest.Start(t, dotnettest.Options{})
	e := locate(t, server.PID())
	c := client(e)

	info, err := c.ProcessInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if info.PID != uint64(server.PID()) || info.OS != "Linux" || info.Arch != "x64" || info.RID != "linux-x64" ||
		!strings.HasPrefix(info.Version, "10.") || info.EntryAssembly != "azmcp" {
		t.Errorf("process info: got %+v", info)
	}
	found, err := dotnetipc.Proc{}.Runtimes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !contains(found, e.Identity) {
		t.Errorf("runtimes: got %v, want %v among them", found, e.Identity)
	}

	session, err := c.Collect(ctx, gcEvents())
	if err != nil {
		t.Fatal(err)
	}
	if session.Version != 5 {
		t.Errorf("CollectTracing%d, want 5 of .NET 10", session.Version)
	}
	server.Initialize()
	for range 20 {
		server.List(0)
	}
	stream := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(session)
		stream <- b
	}()
	if err := session.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	b := <-stream
	// The end tag of a stream that ended in good order is a null tag.
	if !strings.HasPrefix(string(b), "Nettrace") || b[len(b)-1] != 1 {
		t.Errorf("stream of %d bytes begins %q and ends %x", len(b), b[:8], b[len(b)-1:])
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	// A number that is no session's any more is no error.
	if err := session.Stop(ctx); err != nil {
		t.Errorf("stop again: %v", err)
	}
	if err := c.Resume(ctx); err != nil {
		t.Errorf("resume a runtime that runs: %v", err)
	}
	t.Run("sessions run out", func(t *testing.T) { runOut(t, c) })

	server.Kill()
	if _, err := c.ProcessInfo(ctx); !errors.Is(err, dotnetipc.ErrStaleSocket) && !errors.Is(err, dotnetipc.ErrNoSocket) {
		t.Errorf("a process that was killed: got %v", err)
	}
	if _, err := (dotnetipc.Proc{}).Locate(t.Context(), server.PID()); !errors.Is(err, dotnetipc.ErrNoProcess) {
		t.Errorf("locate a process that was killed: got %v", err)
	}
}

// TestAzmcpElsewhere finds a process in mount and pid namespaces of its own, as
// a container's is.
func TestAzmcpElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make namespaces")
	}
	server := dotnettest.Start(t, dotnettest.Options{Wrap: []string{"unshare", "--mount-proc", "--pid", "--fork", "--kill-child"}})
	e := locate(t, child(t, server.PID()))
	if !strings.HasPrefix(e.Name, "dotnet-diagnostic-1-") {
		t.Errorf("socket %s, want that of pid 1", e.Name)
	}
	info, err := client(e).ProcessInfo(background(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.PID != 1 {
		t.Errorf("pid %d, want 1", info.PID)
	}
}

// TestAzmcpReversePort: a process that waits for us at its start is traced from
// its first event on, and goes on when it is told to.
func TestAzmcpReversePort(t *testing.T) {
	ctx := background(t)
	dir := t.TempDir()
	l, err := dotnetipc.Listen(dir+"/port", dotnetipc.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	server := dotnettest.Start(t, dotnettest.Options{Env: []string{"DOTNET_DiagnosticPorts=" + dir + "/port,suspend"}})
	c, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.Timeout = 3 * time.Minute
	if c.PID != server.PID() {
		t.Errorf("process %d, want %d", c.PID, server.PID())
	}
	s, err := c.Collect(ctx, gcEvents())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := c.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	server.Ping()
	stream := make(chan int64, 1)
	go func() {
		n, _ := io.Copy(io.Discard, s)
		stream <- n
	}()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if n := <-stream; n == 0 {
		t.Error("the stream is empty")
	}
}

// TestAzmcpStopped: a process that a debugger holds takes the connection and
// never answers.
func TestAzmcpStopped(t *testing.T) {
	server := dotnettest.Start(t, dotnettest.Options{})
	c := client(locate(t, server.PID()))
	if err := syscall.Kill(server.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.Timeout = 100 * time.Millisecond
	for { // the signal takes its time to reach every thread
		_, err := c.ProcessInfo(background(t))
		if errors.Is(err, dotnetipc.ErrNoAnswer) {
			break
		}
		if err != nil {
			t.Fatalf("stopped: got %v, want ErrNoAnswer", err)
		}
	}
	if err := syscall.Kill(server.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.Timeout = 3 * time.Minute
	if _, err := c.ProcessInfo(background(t)); err != nil {
		t.Errorf("going on: %v", err)
	}
}

// TestAzmcpOff: the ways in which a process has no socket are told apart.
func TestAzmcpOff(t *testing.T) {
	for env, want := range map[string]string{
		"DOTNET_EnableDiagnostics=0":              "DOTNET_EnableDiagnostics=0 turns it off",
		"TMPDIR=/tmp/" + strings.Repeat("x", 100): "give the process a TMPDIR shorter",
	} {
		server := dotnettest.Start(t, dotnettest.Options{Env: []string{env}})
		_, err := dotnetipc.Proc{}.Environment(t.Context(), server.PID())
		for end := time.Now().Add(3 * time.Minute); errors.Is(err, dotnetipc.ErrStarting) && time.Now().Before(end); time.Sleep(time.Millisecond) {
			_, err = dotnetipc.Proc{}.Environment(t.Context(), server.PID())
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = dotnetipc.Proc{}.Locate(t.Context(), server.PID())
		if !errors.Is(err, dotnetipc.ErrNoSocket) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", env, err, want)
		}
		server.Kill()
	}
}
