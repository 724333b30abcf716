package gopprof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"runtime"
	"runtime/trace"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace/evidence"
	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

var _ source.Source = (*Source)(nil)

const roleVariable = "GOPPROF_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "service" {
		serve()
		return
	}
	noleak.Main(m)
}

// told is what a service says of itself.
type told struct {
	Address  string
	GCs      uint32
	OtherSys uint64 // of which the buffers of a trace are
	Traced   bool
}

// serve is a service that is like any other: it imports nothing of ours. It says where it
// listens, and after each line that it reads how it is.
func serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	http.HandleFunc("/work", func(_ http.ResponseWriter, q *http.Request) {
		_, task := trace.NewTask(q.Context(), "GET /work") // as the SDK does of a span
		defer task.End()
		runtime.GC()
	})
	http.HandleFunc("/flood", func(_ http.ResponseWriter, q *http.Request) {
		for q.Context().Err() == nil { // each turn is an event
			runtime.Gosched()
		}
	})
	go func() { _ = http.Serve(l, nil) }() // it ends with the process
	go func() {
		for time.Sleep(20 * time.Millisecond); ; time.Sleep(20 * time.Millisecond) {
			if a, err := http.Get("http://" + l.Addr().String() + "/work"); err == nil {
				_ = a.Body.Close()
			}
		}
	}()
	say := json.NewEncoder(os.Stdout)
	for line := make([]byte, 1); ; {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_ = say.Encode(told{l.Addr().String(), m.NumGC, m.OtherSys, trace.IsEnabled()})
		if _, err := os.Stdin.Read(line); err != nil {
			return
		}
	}
}

// service is one that runs.
type service struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *json.Decoder
	told
}

func run(t *testing.T, wrap ...string) *service {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Under an emulator a wrapper would leave this program to a shell, as a script.
	if err := exec.Command(exe, "-test.run=^$").Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this program: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if len(wrap) > 0 {
		if err := exec.Command(wrap[0], append(wrap[1:len(wrap):len(wrap)], "true")...).Run(); err != nil {
			t.Skipf("cannot run %v: %v", wrap, err)
		}
	}
	args := append(wrap, exe)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), roleVariable+"=service")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &service{t: t, cmd: cmd, in: in, out: json.NewDecoder(out)}
	s.read()
	return s
}

func (s *service) read() {
	s.t.Helper()
	if err := s.out.Decode(&s.told); err != nil {
		s.t.Fatalf("the service says nothing: %v", err)
	}
}

// ask asks the service how it is.
func (s *service) ask() told {
	s.t.Helper()
	if _, err := s.in.Write([]byte("\n")); err != nil {
		s.t.Fatal(err)
	}
	s.read()
	return s.told
}

func testClock(t *testing.T) stall.Clock {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return clock
}

func open(t *testing.T, o Options) *Source {
	t.Helper()
	o.Clock = testClock(t)
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.due = 0
	return s
}

// slice reads a slice to its end.
type slice struct {
	collections []gc.Collection
	intervals   []stall.Interval
	reasons     []string
	requests    []evidence.Request
	unseen      []stall.Span
}

func take(t *testing.T, s *Source) (all slice) {
	t.Helper()
	before := s.Status()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		b, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("next: %v", err)
		}
		for i := range b.Collections {
			all.collections = append(all.collections, b.Collections[i].Clone())
		}
		for i := range b.Intervals {
			all.reasons = append(all.reasons, s.Reason(i))
		}
		all.intervals = append(all.intervals, b.Intervals...)
		all.requests = append(all.requests, s.Requests()...)
		all.unseen = append(all.unseen, b.Unseen...)
		if now := s.Status(); now.Slices+now.Failed > before.Slices+before.Failed {
			s.due = 0
			return all
		}
	}
}

// TestSlice: of a service that knows nothing of us, a slice has what its runtime counts,
// and its requests.
func TestSlice(t *testing.T) {
	service := run(t)
	for name, where := range map[string]string{"URL": "http://" + service.Address, "auto": Auto} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{PID: service.cmd.Process.Pid, URL: where})
			now := s.o.Clock.Now()
			got := take(t, s)
			status := s.Status()
			if status.Err != nil || status.Slices != 1 || status.Endpoint != "http://"+service.Address+tracePath {
				t.Fatalf("status %+v", status)
			}
			if len(got.requests) == 0 || len(got.collections) == 0 {
				t.Fatalf("%d requests and %d collections: nothing is proven", len(got.requests), len(got.collections))
			}
			for i, v := range got.intervals {
				if want := v.Cause == stall.GCPause; strings.HasPrefix(got.reasons[i], "GC ") != want {
					t.Errorf("a stop with cause %v has reason %q", v.Cause, got.reasons[i])
				}
				if v.Start < now || v.End > s.o.Clock.Now() {
					t.Errorf("a stop from %v to %v is not of this minute", v.Start, v.End)
				}
			}
			for i, c := range got.collections {
				want := gc.TriggerForced
				if _, seen := c.Start.Get(); i == 0 && !seen && c.Incomplete != "" {
					want = gc.TriggerUnknown // it was running when the slice began
				}
				if c.Trigger != want {
					t.Errorf("collection %d: trigger %v, want %v", c.Index, c.Trigger, want)
				}
			}
			for _, q := range got.requests {
				if q.Name != "GET /work" || q.Moved || q.Share.GC() == 0 {
					t.Errorf("request %q, moved %t, %v of the collector", q.Name, q.Moved, q.Share.GC())
				}
			}
			if s.budget.rest < 0 || s.cost.Events == 0 || s.cost.Bytes == 0 {
				t.Errorf("cost %+v", s.cost)
			}
		})
	}
	if service.ask().Traced {
		t.Error("a trace was left running")
	}
}

// TestSlicing: while a slice is taken, and until what it told can have been taken, its begin is
// known.
func TestSlicing(t *testing.T) {
	service := run(t)
	s := open(t, Options{PID: service.cmd.Process.Pid, URL: "http://" + service.Address})
	if got := s.Slicing(); got != 0 {
		t.Errorf("before the first slice: since %v", got)
	}
	for before, slices := s.o.Clock.Now(), 0; slices < 2; {
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		status := s.Status()
		if status.Err != nil {
			t.Fatal(status.Err)
		}
		switch got := s.Slicing(); {
		case s.body != nil && (got < before || got > s.o.Clock.Now()):
			t.Errorf("in a slice: since %v, want between %v and now", got, before)
		case status.Slices > uint64(slices) && got < before:
			t.Errorf("after the last batch of a slice: since %v, want its begin", got)
		case status.Slices == uint64(slices) && s.body == nil && got != 0:
			t.Errorf("between slices: since %v, want none", got)
		case status.Slices > uint64(slices):
			slices++
		}
		s.due = min(s.due, s.o.Clock.Now().Add(restFor+restFor/2)) // one rest is told between
	}
}

// TestTimeNamespace: the instants of a service in another time namespace are ours.
func TestTimeNamespace(t *testing.T) {
	service := run(t, "unshare", "--time", "--monotonic", "100000")
	s := open(t, Options{PID: service.cmd.Process.Pid, URL: "http://" + service.Address})
	before := s.o.Clock.Now()
	got := take(t, s)
	if len(got.requests) == 0 {
		t.Fatalf("no requests: %+v", s.Status())
	}
	for _, q := range got.requests {
		if q.Start < before || q.End > s.o.Clock.Now() {
			t.Errorf("a request from %v to %v is not between %v and now", q.Start, q.End, before)
		}
	}
}

// TestCloseInASlice: the process then traces no more.
func TestCloseInASlice(t *testing.T) {
	service := run(t)
	s := open(t, Options{PID: service.cmd.Process.Pid, URL: "http://" + service.Address})
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Next(context.Background()); err != nil {
				done <- err
				return
			}
		}
	}()
	for !service.ask().Traced {
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != io.EOF {
		t.Errorf("next after Close: got %v, want io.EOF", err)
	}
	for limit := time.Now().Add(time.Minute); service.ask().Traced; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the trace goes on")
		}
	}
}

// TestTurnGivenBack: who ends in the midst of a slice, or while the endpoint says nothing, does
// not keep the others from having their turn.
func TestTurnGivenBack(t *testing.T) {
	service := run(t)
	turn := make(chan struct{}, 1)
	s := open(t, Options{PID: service.cmd.Process.Pid, URL: "http://" + service.Address, Turn: turn})
	for s.body == nil {
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(turn) != 1 {
		t.Fatal("a slice is being taken, and not in turn")
	}
	if err := s.Close(); err != nil || len(turn) > 0 {
		t.Errorf("closed, %v: the turn is not given back", err)
	}
	for err := error(nil); err == nil; _, err = s.Next(t.Context()) {
	}

	asked := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		close(asked)
		<-q.Context().Done()
	}))
	defer silent.Close()
	s = open(t, Options{PID: os.Getpid(), URL: silent.URL, Turn: turn})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := s.Next(ctx); err != nil {
		t.Error(err)
	}
	if err := s.Status().Err; !errors.Is(err, context.Canceled) || len(turn) > 0 {
		t.Errorf("got %v and %d turns, want that the slice was given up when the context was done", err, len(turn))
	}
}

// tries are how often a test tries to meet a slice that runs: who gets no CPU for so long
// comes when it is over.
const tries = 5

// TestKilledInASlice: a process that ends in a slice is a slice that failed, and then the
// end.
func TestKilledInASlice(t *testing.T) {
	for range tries {
		if killedInASlice(t) {
			return
		}
	}
	t.Error("no slice failed")
}

// killedInASlice kills a process in a slice and reports whether the slice failed.
func killedInASlice(t *testing.T) bool {
	service := run(t)
	s := open(t, Options{PID: service.cmd.Process.Pid, URL: "http://" + service.Address})
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for !service.ask().Traced {
			time.Sleep(time.Millisecond)
		}
		_ = service.cmd.Process.Kill()
		_ = service.cmd.Wait()
	}()
	for {
		_, err := s.Next(t.Context())
		s.due = 0
		if err != nil {
			if !strings.Contains(err.Error(), "process") {
				t.Errorf("got %v, want that the process is gone", err)
			}
			break
		}
	}
	<-killed
	return s.Status().Failed > 0
}

// TestTwoAtOnce: the tracer has one user. The other is told, and asks again.
func TestTwoAtOnce(t *testing.T) {
	service := run(t)
	o := Options{PID: service.cmd.Process.Pid, URL: "http://" + service.Address}
	one, other := open(t, o), open(t, o)
	for try := 0; other.Status().Err == nil; try++ {
		if try == tries {
			t.Fatal("the second was never told that tracing is enabled")
		}
		done := make(chan slice, 1)
		go func() { done <- take(t, one) }()
		for !service.ask().Traced && len(done) == 0 {
			time.Sleep(time.Millisecond)
		}
		take(t, other)
		<-done
		if err := one.Status().Err; err != nil {
			t.Fatalf("the first: %v", err)
		}
	}
	if err := other.Status().Err; !strings.Contains(err.Error(), "Could not enable tracing") {
		t.Errorf("the second: got %v, want that tracing is enabled", err)
	}
	take(t, other)
	if err := other.Status().Err; err != nil {
		t.Errorf("the second, later: %v", err)
	}
}

// TestTurn: while it is the turn of another, a process is not asked.
func TestTurn(t *testing.T) {
	service := run(t)
	turn := make(chan struct{}, 1)
	s := open(t, Options{PID: service.cmd.Process.Pid, URL: "http://" + service.Address, Turn: turn})
	turn <- struct{}{}
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.body != nil || service.ask().Traced {
		t.Error("it was asked out of turn")
	}
	<-turn
	take(t, s)
	if status := s.Status(); status.Slices != 1 || len(turn) != 0 {
		t.Errorf("status %+v, and %d have their turn, want one slice and none", status, len(turn))
	}
}

// TestStoppedReader: a sidecar that is stopped in a slice costs the process no more than
// the memory of that slice, and its requests go on.
func TestStoppedReader(t *testing.T) {
	// A process that gets no CPU for a quarter of a second is late to end the slice.
	for try := range tries {
		if bounded, grown := stoppedReader(t); bounded {
			return
		} else if try == tries-1 {
			t.Errorf("the trace goes on: %d bytes in the last second", grown)
		}
	}
}

// stoppedReader asks a service for a slice and does not read it. It reports whether the
// service's memory stops growing, and by how much it last grew in a second.
func stoppedReader(t *testing.T) (bounded bool, grown uint64) {
	service := run(t)
	get := func(path string) net.Conn {
		c, err := net.Dial("tcp", service.Address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		return c
	}
	defer get("/flood").Close()
	reader := get(tracePath + "?seconds=" + seconds(sliceLength))
	defer reader.Close()
	for !service.ask().Traced {
		time.Sleep(time.Millisecond)
	}
	const some = 1 << 20 // of 30 MB a second
	for range 10 {
		before := service.ask()
		time.Sleep(time.Second)
		for service.ask().GCs < before.GCs+5 { // its requests go on
			time.Sleep(10 * time.Millisecond)
		}
		grown = max(service.OtherSys, before.OtherSys) - before.OtherSys
		if bounded = grown < some; bounded {
			break
		}
	}
	if !service.Traced {
		t.Fatal("the slice was read to its end: nothing is proven")
	}
	_ = reader.Close()
	for service.ask().Traced {
		time.Sleep(10 * time.Millisecond)
	}
	return bounded, grown
}

// TestAnotherProcess: a URL that is another process's is not asked.
func TestAnotherProcess(t *testing.T) {
	one, other := run(t), run(t)
	s := open(t, Options{PID: one.cmd.Process.Pid, URL: "http://" + other.Address})
	take(t, s)
	if err := s.Status().Err; err == nil || !strings.Contains(err.Error(), "does not listen there") {
		t.Errorf("got %v, want that it does not listen there", err)
	}
}

// TestOtherNetwork: where the process has a network of its own, our loopback is not its.
func TestOtherNetwork(t *testing.T) {
	other := run(t)
	one := run(t, "unshare", "--net")
	for where, want := range map[string]string{
		"http://" + other.Address: "does not listen there",
		Auto:                      "has a network of its own",
	} {
		s := open(t, Options{PID: one.cmd.Process.Pid, URL: where})
		take(t, s)
		if err := s.Status().Err; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", where, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:6060":          "http://127.0.0.1:6060/debug/pprof/trace",
		"http://a:b@h:1/":                "http://h:1/debug/pprof/trace",
		"https://h/admin/pprof/trace":    "https://h/admin/pprof/trace",
		"127.0.0.1:6060":                 "",
		"file:///etc/passwd":             "",
		"http://":                        "",
		"http://me:secret@[::1:6060/":    "",
		"ftp://me:secret@127.0.0.1:6060": "",
	} {
		u, err := parse(text)
		got := ""
		if err == nil {
			got = plain(u)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the password: %v", text, err)
		}
		if got != want {
			t.Errorf("%s: got %q and %v, want %q", text, got, err, want)
		}
	}
}
