package otelgc

import (
	"bytes"
	"io"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/exact"
)

// seam changes a monitor before it begins. It stands among
// the options of startMonitor.
type seam func(*Monitor)

func (seam) apply(c config) config { return c }

// startMonitor is Start with seams, which take their turn.
func startMonitor(opts ...Option) (*Monitor, error) {
	m, c, err := prepare(opts)
	if err != nil {
		return nil, err
	}
	for _, o := range opts {
		if f, ok := o.(seam); ok {
			f(m)
		}
	}
	return m, m.run(c)
}

// impatient has a slice that failed followed by another soon: nobody's test is
// about how long it is.
func impatient(m *Monitor) { m.exact.Runtime.Retry = 100 * time.Millisecond }

// hasty has a stream that has ended be lost soon: it is for who takes the tracer
// away himself.
func hasty(m *Monitor) { m.exact.Runtime.Silent = 100 * time.Millisecond }

// restful has the first slice followed by a long rest, as one is whose begin has
// stopped the world for long.
func restful(m *Monitor) {
	start := m.exact.Runtime.Start
	m.exact.Runtime.Start = func(w io.Writer) error {
		time.Sleep(30 * time.Millisecond)
		return start(w)
	}
}

// talkative has the sources tell of themselves with each turn of the loop.
func talkative(m *Monitor) { m.status.every = 0 }

// tamper puts change between the runtime's tracer and the stream.
func tamper(change func([]byte) []byte) seam {
	return func(m *Monitor) {
		m.exact.Runtime.Start = func(w io.Writer) error { return trace.Start(&tampered{w, change}) }
	}
}

type tampered struct {
	w      io.Writer
	change func([]byte) []byte
}

func (t *tampered) Write(p []byte) (int, error) {
	if _, err := t.w.Write(t.change(bytes.Clone(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// losses counts what is reported and said.
type losses struct {
	exact.Observer
	mu   sync.Mutex
	n    map[string]uint64
	said []string
}

func (l *losses) seam(m *Monitor) {
	l.n = map[string]uint64{}
	l.Observer, m.exact.Observer = m.exact.Observer, l
}

func (l *losses) Dropped(item, why string, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n[item+" "+why] += n
}

func (l *losses) Failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, err.Error())
}

func (l *losses) of(what string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n[what]
}

func both(a, b seam) seam { return func(m *Monitor) { a(m); b(m) } }

// skipIfTraced: the test binary was started with -test.trace.
func skipIfTraced(t *testing.T) {
	t.Helper()
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
}
