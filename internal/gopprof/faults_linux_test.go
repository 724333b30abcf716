package gopprof

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
)

// TestFaults: whatever the endpoint does, the slice fails in one line, nothing hangs, and
// the next one is asked for later each time.
func TestFaults(t *testing.T) {
	header := func(w http.ResponseWriter) {
		_, _ = w.Write([]byte("go 1.26 trace\x00\x00\x00"))
		w.(http.Flusher).Flush()
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"not there":  {http.NotFound, "not found (the service does not import net/http/pprof"},
		"a password": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }, "Unauthorized (give --pprof http://USER:PASSWORD@HOST:PORT)"},
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
			var rests []time.Duration
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
				rests = append(rests, s.budget.rest)
				s.due = 0
				if strings.HasPrefix(name, "hangs") {
					rests = append(rests, rests[0]+1) // once is long enough
					break
				}
			}
			if err := s.Status().Err; err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if rests[0] < retryAfter || rests[1] <= rests[0] {
				t.Errorf("rests of %v", rests)
			}
		})
	}
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
   5: 0100007F:FFFFF 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 16
`
	want := map[string]string{"127.0.0.1:6060": "11", "[::1]:6062": "13", "127.0.0.1:6063": "14"}
	got := make(map[string]string)
	for a, inode := range listeners(strings.NewReader(table)) {
		got[a.String()] = inode
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for a, inode := range want {
		if got[a] != inode {
			t.Errorf("%s: inode %q, want %q", a, got[a], inode)
		}
	}
}
