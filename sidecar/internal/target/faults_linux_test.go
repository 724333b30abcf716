package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
)

// asClient makes the test's binary a client that attaches to the process it
// names, says so and reads on.
const asClient = "OTELGC_TEST_ATTACH"

// goSleeper makes it a Go program that collects its heap for each line of its standard input.
const goSleeper = "OTELGC_TEST_SLEEPER"

func TestMain(m *testing.M) {
	if os.Getenv(goSleeper) != "" {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			runtime.GC()
		}
		os.Exit(0)
	}
	if pid, err := strconv.Atoi(os.Getenv(asClient)); err == nil {
		if err := attachForEver(pid); err != nil {
			fmt.Println(err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func attachForEver(pid int) error {
	e, err := dotnetipc.Proc{}.Locate(context.Background(), pid)
	if err != nil {
		return err
	}
	s, err := dotnetipc.NewClient(e).Collect(context.Background(), dotnet.Request())
	if err != nil {
		return err
	}
	fmt.Println("attached")
	for b := make([]byte, 4096); err == nil; {
		_, err = s.Read(b)
	}
	return err
}

// TestAzmcpFollow: a process that is killed leaves its socket behind; the one
// that is started in its place is another, and watched as such.
func TestAzmcpFollow(t *testing.T) {
	name := fmt.Sprintf("shop%d", os.Getpid())
	first := dotnettest.Start(t, dotnettest.Options{Name: name})
	r := newRig(t, Options{Selector: selector(t, name)})
	r.await("watching a .NET process", 1)
	first.Kill()
	r.await("no longer watched", 1)

	second := dotnettest.Start(t, dotnettest.Options{Name: name, TempDir: first.TempDir})
	r.await("watching a .NET process", 2)
	if left, err := filepath.Glob(first.TempDir + "/dotnet-diagnostic-*"); err != nil || len(left) != 2 {
		t.Errorf("sockets: %v, %v, want that of the killed process and that of the new one", left, err)
	}
	all := r.stop()
	if len(all) != 2 || all[0].PID != first.PID() || all[1].PID != second.PID() {
		t.Fatalf("summaries: got %+v, want of %d and %d", all, first.PID(), second.PID())
	}
	if all[0].Why != "the process ended" || all[1].Why != "asked to end" {
		t.Errorf("ends: got %q and %q", all[0].Why, all[1].Why)
	}
	second.Ping() // it goes on
	// The telemetry of the one has nothing of the other.
	for _, e := range r.events(semconv.EventSourceStatus) {
		if want := fmt.Sprintf("int_value:%d", integer(e, semconv.AttrTargetPID)); e.Resource[semconv.AttrProcessPID] != want {
			t.Errorf("status about process %s with the resource of %s", want, e.Resource[semconv.AttrProcessPID])
		}
	}
}

// TestAzmcpListen: a process that dials us and waits for us at its start is
// watched from its first collection on, and once, though it has its socket,
// too.
func TestAzmcpListen(t *testing.T) {
	name := fmt.Sprintf("dials%d", os.Getpid())
	port := filepath.Join(t.TempDir(), "port")
	r := newRig(t, Options{Selector: selector(t, name), Listen: port})
	server := dotnettest.Start(t, dotnettest.Options{Name: name, Env: []string{"DOTNET_DiagnosticPorts=" + port + ",suspend"}})
	r.await("watching a .NET process", 1)
	server.Initialize()
	server.Kill()
	r.await("no longer watched", 1)
	all := r.stop()
	if len(all) != 1 || all[0].PID != server.PID() || all[0].FirstIndex > 1 || all[0].Why != "the process ended" {
		t.Errorf("summaries: got %+v, want one, from collection 1 on", all)
	}
}

// TestAzmcpOtherClock: a process in a time namespace reads CLOCK_MONOTONIC with
// an offset. Its stops are put on the shared clock.
func TestAzmcpOtherClock(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make a namespace")
	}
	name := fmt.Sprintf("later%d", os.Getpid())
	r := newRig(t, Options{Selector: selector(t, name)})
	before := r.o.Clock.Now()
	server := dotnettest.Start(t, dotnettest.Options{
		Name: name, Wrap: []string{"unshare", "--time", "--monotonic", "100000", "--fork", "--kill-child"},
		Env: []string{"DOTNET_GCgen0size=40000"},
	})
	r.await("watching a .NET process", 1)
	server.Initialize()
	for range 10 {
		server.List(0)
	}
	all := r.stop()
	after := r.o.Clock.Now()
	events := r.events(semconv.EventCollection)
	if len(all) != 1 || len(events) == 0 {
		t.Fatalf("%d events, summaries %+v", len(events), all)
	}
	for _, e := range events {
		if start, end := integer(e, semconv.AttrStart), integer(e, semconv.AttrEnd); start < int64(before) || end > int64(after) {
			t.Errorf("collection from %d to %d, want it between %d and %d", start, end, before, after)
		}
	}
}

// TestAzmcpFaults does to one process what must not harm it.
func TestAzmcpFaults(t *testing.T) {
	server := dotnettest.Start(t, dotnettest.Options{Env: []string{"DOTNET_GCgen0size=40000"}})
	client := dotnetipc.NewClient(located(t, server.PID()))
	client.Timeout = time.Minute
	server.Initialize()
	server.List(0)
	own := sessionThreads(t, server.PID()) // it may listen to its own events
	t.Run("clients are killed while attached", func(t *testing.T) { killClients(t, server, client, own) })
	t.Run("a reader stalls", func(t *testing.T) { stallReader(t, server, client, own) })
	t.Run("all sessions are in use", func(t *testing.T) { crowd(t, server, client, own) })
}

func killClients(t *testing.T, server *dotnettest.Server, client *dotnetipc.Client, own int) {
	const times = 100
	before := openFiles(t, server.PID())
	for i := range times {
		// Sessions of the dead stay until there is an event, which nobody promises
		// between two kills.
		if i%(dotnetipc.MaxSessions/2) == 0 {
			noLeak(t, server, own)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", asClient, server.PID()))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "attached\n" {
			t.Fatalf("client: %q, %v", line, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		server.Ping()
	}
	if _, err := client.ProcessInfo(t.Context()); err != nil {
		t.Errorf("after %d clients were killed: %v", times, err)
	}
	noLeak(t, server, own)
	noFileLeak(t, server, before)
}

// crowd takes every session. The watcher says why it sees nothing, and sees as
// soon as there is room.
func crowd(t *testing.T, server *dotnettest.Server, client *dotnetipc.Client, own int) {
	var sessions []*dotnetipc.Session
	for {
		s, err := client.Collect(t.Context(), dotnet.Request())
		if errors.Is(err, dotnetipc.ErrBusy) {
			break
		}
		if err != nil || len(sessions) == dotnetipc.MaxSessions {
			t.Fatalf("after %d sessions: %v", len(sessions), err)
		}
		sessions = append(sessions, s)
	}
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(server.PID()))})
	r.await("no session left: the 64 of the process are in use", 1)
	for _, s := range sessions {
		_ = s.Close()
	}
	noLeak(t, server, own+1) // or the watcher's is there by then
	r.await("watching a .NET process", 1)
	s := r.stop()
	if len(s) != 1 || s[0].Sessions != 1 || s[0].Why != "asked to end" {
		t.Errorf("summary: got %+v", s)
	}
	noLeak(t, server, own)
}
