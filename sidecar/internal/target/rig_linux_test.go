package target

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/stall"
)

// rig is a Watcher that exports to a receiver in memory.
type rig struct {
	*Watcher
	t        *testing.T
	receiver *otlptest.Receiver
	log      *logBuffer
	stopped  []Summary
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{t: t, receiver: otlptest.NewHTTP(t), log: &logBuffer{}}
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": r.receiver.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
		"OTEL_BLRP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "60000",
	} {
		t.Setenv(name, value)
	}
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	o.Clock, o.Log = clock, slog.New(slog.NewTextHandler(r.log, nil))
	if r.Watcher, err = Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.stop() })
	return r
}

// stop ends the watcher once and returns what it saw.
func (r *rig) stop() []Summary {
	if r.stopped == nil {
		r.stopped = r.Watcher.Stop()
	}
	return r.stopped
}

// await waits until the log holds text as often as n.
func (r *rig) await(text string, n int) {
	r.t.Helper()
	for end := time.Now().Add(3 * time.Minute); strings.Count(r.log.String(), text) < n; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("the log does not hold %q %d times:\n%s", text, n, r.log)
		}
	}
}

// events returns the events of a name that were received.
func (r *rig) events(name string) []otlptest.Log {
	return slices.DeleteFunc(r.receiver.Logs(), func(l otlptest.Log) bool { return l.GetEventName() != name })
}

// metric returns the last of a name that was received, nil if there is none.
func (r *rig) metric(name string) *otlptest.Metric {
	all := r.receiver.Metrics()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].GetName() == name {
			return &all[i]
		}
	}
	return nil
}

func integer(l otlptest.Log, key string) int64 {
	return otlptest.Attribute(l.GetAttributes(), key).GetIntValue()
}

func integers(l otlptest.Log, key string) (all []int64) {
	for _, v := range otlptest.Attribute(l.GetAttributes(), key).GetArrayValue().GetValues() {
		all = append(all, v.GetIntValue())
	}
	return all
}

func text(of []*common.KeyValue, key string) string {
	return otlptest.Attribute(of, key).GetStringValue()
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func selector(t *testing.T, s string) Selector {
	t.Helper()
	sel, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

// located waits until a process that has just started listens: its socket is
// there a moment before.
func located(t *testing.T, pid int) dotnetipc.Endpoint {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		e, err := dotnetipc.Proc{}.Locate(t.Context(), pid)
		if err == nil {
			client := dotnetipc.NewClient(e)
			client.Timeout = 20 * time.Second
			_, err = client.ProcessInfo(t.Context())
		}
		if err == nil {
			return e
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
