package oracle

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// resolved is what the monitor says of a window.
type resolved struct {
	w stall.Window
	s stall.Share
}

// run is a program that was watched and traced.
type run struct {
	procs   int
	windows []resolved
	log     []logged
	trace   []byte
}

// agreed is how many windows must have been compared and have agreed.
const agreed = 10_000

// tolerance is how far the two may be apart.
const tolerance = time.Microsecond

// TestWindows: two programs, of two Ps and of one, and each of the windows that
// the trace holds whole.
func TestWindows(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
	var sum verdict
	for _, procs := range []int{2, 1} {
		t.Run(fmt.Sprintf("%d Ps", procs), func(t *testing.T) {
			r := record(t, procs)
			v := r.compare(t)
			t.Log(v.String())
			sum.add(v)
		})
	}
	switch {
	case sum.agreed == 0 || sum.agreed+sum.unseen < agreed:
		t.Errorf("compared %d windows, want %d: %s", sum.agreed, agreed, sum.String())
	case sum.agreed < agreed:
		t.Logf("compared %d windows only, not %d: the machine was too busy for the decoder", sum.agreed, agreed)
	}
	// Each rule was at work, but for what need not happen.
	for _, o := range owners {
		if o != unseen && o != unknown && sum.time[o] == 0 {
			t.Errorf("no time of %s in any window", o)
		}
	}
}

// record runs the program under the monitor, which traces all the time.
func record(t *testing.T, procs int) *run {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	r := &run{procs: procs}
	var mu sync.Mutex
	m, err := otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(1),
		otelgc.WithArrivalHeader(arrivalHeader, otelgc.ArrivalMonotonic),
		otelgc.WithOnWindow(func(w *stall.Window, s *stall.Share) {
			mu.Lock()
			defer mu.Unlock()
			r.windows = append(r.windows, resolved{*w, *s})
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer shutdown(t, m)
	tee := startTee(m)
	// A tee that joins a slice begins with its next generation: it does not get the
	// windows before that whole.
	<-tee.began
	for followed := false; !followed; time.Sleep(time.Millisecond) {
		w := m.Begin(t.Context()) // it never ends, and is none
		followed = w.Context(t.Context()) != t.Context()
	}
	p := newProgram(t, m)
	p.drive(t)
	p.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := m.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	r.trace = tee.stop()
	r.log = p.log
	return r
}

// drive lets several goroutines do windows until there are enough of them.
func (p *program) drive(t *testing.T) {
	const (
		workers, each   = 12, 420
		clients, called = 4, 400
	)
	s := p.serve()
	defer s.Close()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { p.work(t, each, i) })
	}
	for range clients {
		wg.Go(func() { p.call(t, s, called) })
	}
	wg.Wait()
}

func shutdown(t *testing.T, m *otelgc.Monitor) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := m.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// tee takes what the monitor decodes, from the handler that serves it.
type tee struct {
	*httptest.ResponseRecorder
	first  sync.Once
	began  chan struct{} // closed when there is something
	cancel func()
	done   chan struct{}
}

func (w *tee) Write(b []byte) (int, error) {
	w.first.Do(func() { close(w.began) })
	return w.ResponseRecorder.Write(b)
}

func startTee(m *otelgc.Monitor) *tee {
	ctx, cancel := context.WithCancel(context.Background())
	w := &tee{ResponseRecorder: httptest.NewRecorder(), began: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	ask := httptest.NewRequestWithContext(ctx, http.MethodGet, "/?seconds=300", nil)
	go func() {
		defer close(w.done)
		m.TraceHandler().ServeHTTP(w, ask)
	}()
	return w
}

func (w *tee) stop() []byte {
	w.cancel()
	<-w.done
	return bytes.Clone(w.Body.Bytes())
}
