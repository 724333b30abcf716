package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/sidecar/internal/gaps"
)

// TestEndsThoughTheCollectorHangs: one that takes connections and never answers
// holds up the end by no more than the bound that the sidecar sets to it, which is
// seconds. An exporter alone would wait for an hour here: what tells the two apart
// on a machine of any speed is a minute.
func TestEndsThoughTheCollectorHangs(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel() // both wait most of the time
			address, taken := hang(t)
			run := startSidecar(t, []string{
				"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
				"OTEL_BLRP_SCHEDULE_DELAY=100", "OTEL_METRIC_EXPORT_INTERVAL=100",
				"OTEL_EXPORTER_OTLP_TIMEOUT=3600000", "OTEL_BLRP_EXPORT_TIMEOUT=3600000", "OTEL_METRIC_EXPORT_TIMEOUT=3600000",
			}, "run", "--json", "--mode", "periodic", "--board=off")
			run.await("it was exporting", func() bool { return len(taken) > 0 })
			begin := time.Now()
			if err := run.end(signal); err != nil {
				t.Errorf("run: %v: %s", err, run.log())
			}
			took := time.Since(begin)
			if t.Logf("ended after %v", took); took > time.Minute {
				t.Errorf("ended %v after the signal, want seconds", took)
			}
			checkProbe(t, one[gaps.Document](t, run.stdout.String()))
			var d struct {
				NotExported struct {
					Events uint64
					Error  string
				} `json:"not_exported"`
			}
			if err := json.Unmarshal(run.stdout.Bytes(), &d); err != nil {
				t.Fatal(err)
			}
			if u := d.NotExported; u.Events == 0 || u.Error == "" {
				t.Errorf("not exported: %+v, want the events, which nobody took, and why", u)
			}
			if want := fmt.Sprintf("events_lost=%d", d.NotExported.Events); !strings.Contains(run.log(), want) {
				t.Errorf("no %q in the log: %s", want, run.log())
			}
		})
	}
}

// hang listens, takes connections and never answers. taken has room for the
// first that it took.
func hang(t *testing.T) (address string, taken <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return // it is closed
			}
			defer func() { _ = c.Close() }()
			select {
			case first <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close() // nothing was written
		<-done
	})
	return l.Addr().String(), first
}

// TestRunExportsItsLastValues: a run that is shorter than the time between two
// exports has told all that it saw.
func TestRunExportsItsLastValues(t *testing.T) {
	t.Parallel()
	r := otlptest.NewHTTP(t)
	stdout, stderr, code := sidecar(t, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_METRIC_EXPORT_INTERVAL=3600000",
	}, "run", "--json", "--mode", "periodic", "--board=off", "--duration", "500ms")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if strings.Contains(stdout, "not_exported") || strings.Contains(stderr, "not all") {
		t.Errorf("something was not exported: %s\n%s", stdout, stderr)
	}
	d := one[gaps.Document](t, stdout)
	observed := 0.0
	for _, m := range r.Metrics() {
		if m.GetName() == semconv.MetricObservedTime {
			for _, p := range m.GetSum().GetDataPoints() {
				observed = max(observed, p.GetAsDouble())
			}
		}
	}
	if want := d.Duration.Seconds(); observed < 0.999*want || observed > 1.001*want {
		t.Errorf("%s: exported %v s, and the summary says %v s", semconv.MetricObservedTime, observed, want)
	}
}
