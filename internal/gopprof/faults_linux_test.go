package gopprof

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/gotrace"
)

// TestFaults: whatever the endpoint does, the slice fails in one line, nothing hangs, and
// the next one is asked for later each time.
func TestFaults(t *testing.T) {
	header := func(w http.ResponseWriter) {
		_, _ = w.Write([]byte("go 1.26 trace\x00\x00\x00"))
		w.(http.Flusher).Flush()
	}
	before := ownTrace(t)
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"another time": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(before) }, "it is of another clock, or another time"},
		"not there":    {http.NotFound, "not found (the service does not import net/http/pprof"},
		"a password":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }, "Unauthorized (give --pprof http://USER:PASSWORD@HOST:PORT)"},
		"in use": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Could not enable tracing: tracing is already enabled", http.StatusInternalServerError)
		}, "tracing is already enabled"},
		"too long for it": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "profile duration exceeds server's WriteTimeout", http.StatusBadRequest)
		}, "the server's WriteTimeout must be longer than 750ms"},
		"another place": {func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "http://192.0.2.1/", http.StatusFound)
		}, "status 302"},
		"a page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "no execution trace"},
		"control codes": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "a\x1b[2Jb\nc", http.StatusInternalServerError)
		}, "a [2Jb c"},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) {
			header(w)
			_, _ = w.Write([]byte(strings.Repeat("\xff", 1<<16)))
		}, "read trace of"},
		"an unknown release": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("go 1.99 trace\x00\x00\x00")) }, "1.99"},
		"closes": {func(w http.ResponseWriter, _ *http.Request) {
			header(w)
			panic(http.ErrAbortHandler)
		}, "the connection was closed"},
		"hangs before":       {func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }, "did not end within 5.75s"},
		"hangs in the midst": {func(w http.ResponseWriter, q *http.Request) { header(w); <-q.Context().Done() }, "did not end within 5.75s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.serve)
			defer server.Close()
			s := open(t, Options{PID: os.Getpid(), URL: server.URL})
			var rests []time.Duration // of the failures alone: what a slice took counts, too
			for range 2 {
				_, err := s.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for s.body != nil {
					if _, err := s.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				rests = append(rests, s.budget.failed)
				s.due = 0
				if strings.HasPrefix(name, "hangs") {
					rests = append(rests, rests[0]+1) // once is long enough
					break
				}
			}
			if err := s.Status().Err; err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if rests[0] < retryAfter || rests[1] <= rests[0] || s.budget.rest < s.budget.failed {
				t.Errorf("rests of %v, and now %v", rests, s.budget.rest)
			}
		})
	}
}

// ownTrace returns a trace of this process.
func ownTrace(t *testing.T) []byte {
	t.Helper()
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	trace.Stop()
	return b.Bytes()
}

// TestEndless: of an answer without end only so much is read, and little of it kept.
func TestEndless(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = w.Write([]byte("go 1.26 trace\x00\x00\x00"))
		// Batches of one generation: EvEventBatch, generation 1, thread 0, time 0, 65,500
		// bytes of what no event has.
		batch := append([]byte{1, 1, 0, 0, 0xdc, 0xff, 3}, make([]byte, 65500)...)
		for q.Context().Err() == nil {
			if _, err := w.Write(batch); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	s := open(t, Options{PID: os.Getpid(), URL: server.URL})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	take(t, s)
	runtime.ReadMemStats(&after)
	if s.Status().Err == nil || s.Status().Bytes > maxSlice {
		t.Errorf("status %+v", s.Status())
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 256<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

// TestLost: what the decoder had no room for is counted.
func TestLost(t *testing.T) {
	s := open(t, Options{PID: os.Getpid(), URL: "http://127.0.0.1:1"})
	s.begin()
	s.learn(&gotrace.Generation{Lost: gotrace.Lost{Tasks: 1, Followed: 20, Tracks: 300}})
	if s.Status().Incomplete != 321 || s.batch.Lost.Count != 321 {
		t.Errorf("%d lost, %d of the batch, want 321", s.Status().Incomplete, s.batch.Lost.Count)
	}
}

// TestBudget: rests are in proportion to what a slice cost, and to what the process uses.
func TestBudget(t *testing.T) {
	for name, c := range map[string]struct {
		share, rate float64
		events      int64
		took        time.Duration
		failed      bool
		want        time.Duration
	}{
		"idle":       {0.01, 0, 1000, time.Second, false, 9 * time.Second},
		"busy":       {0.01, 2, 1_000_000, time.Second, false, 12625 * time.Millisecond},
		"very busy":  {0.01, 0.01, 100_000_000, time.Second, false, mostRest},
		"half of it": {0.5, 2, 1000, time.Second, false, 9 * time.Second},
		"failed":     {0.01, 2, 0, time.Millisecond, true, retryAfter},
	} {
		b := budget{share: c.share, rate: c.rate}
		if b.plan(gotrace.Cost{Events: c.events}, c.took, c.failed); b.rest != c.want {
			t.Errorf("%s: rest %v, want %v", name, b.rest, c.want)
		}
	}
	b := budget{share: 0.01}
	for range 20 {
		b.plan(gotrace.Cost{}, time.Millisecond, true)
	}
	if b.rest != mostRest {
		t.Errorf("after many failures: rest %v, want %v", b.rest, mostRest)
	}
}

// TestListeners: only listening sockets count.
func TestListeners(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	list, err := listening(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(list, " "), l.Addr().String()) {
		t.Errorf("%v is not among %v", l.Addr(), list)
	}
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:17AC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 0100007F:17AD 0100007F:0001 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0
   2: 00000000000000000000000001000000:17AE 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 13 1
   3: 0000000000000000FFFF00000100007F:17AF 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 14 1
   4: 01:17AF x 0A 0 0 0 0 0 15
   5: 0100007F:17AC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17 1 0 100 0 0 10 0
   6: 0100007F:FFFFF 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 16
`
	want := map[string][]string{"127.0.0.1:6060": {"11", "17"}, "[::1]:6062": {"13"}, "127.0.0.1:6063": {"14"}}
	got := make(map[string][]string)
	for a, inodes := range listeners(strings.NewReader(table)) {
		got[a.String()] = inodes
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inodes by address (-want +got):\n%s", diff)
	}
}

// TestSharedSocket: where two processes listen on one address, either may answer.
func TestSharedSocket(t *testing.T) {
	shared := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return errors.Join(err, set)
	}}
	listen := func(address string) *net.TCPListener {
		l, err := shared.Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.(*net.TCPListener)
	}
	ours := listen("127.0.0.1:0")
	address := ours.Addr().String()
	both := listen(address)
	file, err := both.File()
	if err != nil {
		t.Fatal(err)
	}
	is := func(want bool) {
		t.Helper()
		list, err := listening(os.Getpid())
		if got := slices.Contains(list, address); err != nil || got != want {
			t.Errorf("%s is among %v: got %t, %v, want %t", address, list, got, err, want)
		}
	}
	is(true)
	other := exec.Command("sleep", "1000")
	other.ExtraFiles = []*os.File{file}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait() // killed
	})
	_, _ = file.Close(), both.Close() // the other process has it
	is(false)
}

// TestServerThatFails: a socket that answers 500 to all does not keep the next one from
// being asked.
func TestServerThatFails(t *testing.T) {
	var busy string // the address of the one that serves traces
	serve := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Host != busy {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		w.Header().Set("X-Go-Pprof", "1")
		http.Error(w, "tracing is already enabled", http.StatusInternalServerError)
	})
	for range 2 {
		server := httptest.NewServer(serve)
		defer server.Close()
	}
	list, err := listening(os.Getpid())
	if err != nil || len(list) < 2 {
		t.Fatalf("got %v, %v, want two sockets", list, err)
	}
	busy = list[len(list)-1]
	f, err := newFetcher(os.Getpid(), Auto)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.get(t.Context(), sliceLength)
	if err == nil || !strings.HasSuffix(err.Error(), "tracing is already enabled") || f.url == nil || f.url.Host != busy {
		t.Errorf("got %v of %v, want that of %s", err, f.url, busy)
	}
}
