package oracle

import (
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// program is a busy service that keeps a log of its own windows: by which the
// test knows what the monitor's windows are.
type program struct {
	m     *otelgc.Monitor
	clock stall.Clock

	mu  sync.Mutex
	log []logged // by number

	live [1 << 11]atomic.Pointer[node] // 32 MB, all of it to be marked
	lock sync.Mutex
	echo net.Listener
	wg   sync.WaitGroup
}

// logged holds two instants each between which a window began and ended.
type logged struct {
	begin, end [2]stall.Instant
	arrival    stall.Instant
}

const arrivalHeader = "X-Arrival"

func newProgram(t *testing.T, m *otelgc.Monitor) *program {
	p := &program{m: m}
	for i := range p.live {
		p.live[i].Store(chain(1 << 8))
	}
	t.Cleanup(func(percent int) func() { return func() { debug.SetGCPercent(percent) } }(debug.SetGCPercent(15)))
	var err error
	if p.clock, err = stall.NewClock(); err != nil {
		t.Fatal(err)
	}
	if p.echo, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.wg.Go(func() { p.serveEcho() })
	return p
}

func (p *program) now() stall.Instant { return p.clock.Now() }

// slack bounds how far the clock is from that of the monitor.
func (p *program) slack() stall.Instant { return stall.Instant(4 * p.clock.Error()) }

// open gives a window its number.
func (p *program) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, logged{})
	return len(p.log) - 1
}

func (p *program) close(n int, l logged) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log[n] = l
}

// work does some windows, one after the other, on the calling goroutine.
func (p *program) work(t *testing.T, windows, seed int) {
	c, err := net.Dial("tcp", p.echo.Addr().String())
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = c.Close() }()
	for i := range windows {
		n := p.open()
		var l logged
		l.begin[0] = p.now() - p.slack()
		w := p.m.Begin(context.Background())
		l.begin[1] = p.now() + p.slack()
		trace.Log(context.Background(), windowLog, strconv.Itoa(n))
		p.request(i*7+seed, c)
		l.end[0] = p.now() - p.slack()
		w.End()
		l.end[1] = p.now() + p.slack()
		p.close(n, l)
	}
}

// request is what a window does: each kind of waiting and working in turn.
func (p *program) request(kind int, c net.Conn) {
	p.live[kind%len(p.live)].Store(chain(1 << 8)) // 16 kB, and as much garbage
	switch kind % 11 {
	case 0:
		time.Sleep(200 * time.Microsecond)
	case 1:
		burn(100 * time.Microsecond)
		runtime.Gosched()
		burn(50 * time.Microsecond)
	case 2:
		answer := make(chan *node)
		go func() { answer <- chain(1 << 8) }()
		<-answer
	case 3:
		p.lock.Lock()
		burn(50 * time.Microsecond)
		p.lock.Unlock()
	case 4:
		b := []byte("ping")
		_, _ = c.Write(b)
		_, _ = io.ReadFull(c, b)
	case 5:
		_, _ = os.ReadFile("/proc/self/stat")
	case 6:
		chain(1 << 13) // 512 kB
	case 7:
		deep(1<<10, func() { burn(300 * time.Microsecond) }) // the collector takes its time over the stack
	case 8:
		if kind%40 == 8 {
			runtime.GC()
		}
	case 10:
		next, stop := iter.Pull(func(yield func(*node) bool) {
			for yield(chain(1 << 10)) {
			}
		})
		for range 20 {
			next()
		}
		stop()
	case 9:
		if kind%20 == 9 {
			runtime.ReadMemStats(new(runtime.MemStats))
		}
	}
}

func (p *program) serveEcho() {
	for {
		c, err := p.echo.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		})
	}
}

// serve has the windows of HTTP requests logged: in front of the middleware and
// behind it.
func (p *program) serve() *httptest.Server {
	type key struct{}
	type call struct {
		n int
		l logged
	}
	inner := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(key{}).(*call)
		c.l.begin[1] = p.now() + p.slack()
		trace.Log(context.Background(), windowLog, strconv.Itoa(c.n))
		p.live[c.n%len(p.live)].Store(chain(1 << 8))
		burn(50 * time.Microsecond)
		c.l.end[0] = p.now() - p.slack()
	})
	next := p.m.Middleware(inner)
	return httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c := &call{n: p.open()}
		at, _ := strconv.ParseInt(r.Header.Get(arrivalHeader), 10, 64)
		c.l.arrival = stall.Instant(at)
		r = r.WithContext(context.WithValue(r.Context(), key{}, c))
		c.l.begin[0] = p.now() - p.slack()
		next.ServeHTTP(rw, r)
		c.l.end[1] = p.now() + p.slack()
		p.close(c.n, c.l)
	}))
}

// call sends requests, one after the other, each with its arrival.
func (p *program) call(t *testing.T, s *httptest.Server, requests int) {
	for range requests {
		r, err := http.NewRequest(http.MethodGet, s.URL, nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set(arrivalHeader, strconv.FormatInt(int64(p.now()), 10))
		answer, err := s.Client().Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

func (p *program) stop() {
	_ = p.echo.Close()
	p.wg.Wait()
}

type node struct {
	next *node
	_    [56]byte
}

func chain(n int) *node {
	var head *node
	for range n {
		head = &node{next: head}
	}
	return head
}

// deep calls f below n frames.
func deep(n int, f func()) *node {
	if n == 0 {
		f()
		return nil
	}
	return &node{next: deep(n-1, f)}
}

func burn(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}
