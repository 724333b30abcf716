package otlp_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/otlp"
)

// deadCollectorEnv has a process of the test be the service whose Collector is dead:
// "default", or "own" for one with a handler of errors of its own.
const deadCollectorEnv = "OTELGC_TEST_DEAD_COLLECTOR"

// TestServiceOfADeadCollector is that service, when another test starts it.
func TestServiceOfADeadCollector(t *testing.T) {
	how := os.Getenv(deadCollectorEnv)
	if how == "" {
		t.Skip("skipped: TestComplaints starts it in a process of its own")
	}
	if how == "own" {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { t.Logf("own: %s", strings.ReplaceAll(err.Error(), "\n", " ")) }))
	}
	_, shutdown, err := otlp.Start(t.Context(), otelgc.WithExactBudget(0), otelgc.WithBoard(""))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, span := otel.Tracer("test").Start(context.Background(), "work")
		span.End()
	}
	time.Sleep(3 * time.Second) // many exports fail
	for range 2 {
		if err := shutdown(context.Background()); err == nil {
			t.Error("no error of a shutdown whose Collector is dead")
		}
	}
}

// TestComplaints: a service whose Collector is dead says so in one line, with the mend,
// and at its end how much never arrived; a handler of errors that it has set itself
// stays, and is told all.
func TestComplaints(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it takes some seconds")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close() // nobody answers there
	for how, want := range map[string]struct{ complaints, last string }{
		"default": {"WARN export ", "WARN not all telemetry was exported "},
		"own":     {"own: ", "own: otelgc/otlp: not all telemetry was exported: "},
	} {
		t.Run(how, func(t *testing.T) {
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServiceOfADeadCollector$", "-test.v")
			cmd.Env = append(os.Environ(), deadCollectorEnv+"="+how, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address,
				"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_EXPORTER_OTLP_TIMEOUT=20",
				"OTEL_METRIC_EXPORT_INTERVAL=50", "OTEL_BLRP_SCHEDULE_DELAY=50", "OTEL_BSP_SCHEDULE_DELAY=50")
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v:\n%s", err, out.String())
			}
			text := out.String()
			if n := strings.Count(text, want.complaints); how == "default" && n != 1 || how == "own" && n < 3 {
				t.Errorf("%d lines of failed exports, want one, or all for the program's own handler:\n%s", n, text)
			}
			if how == "default" && (strings.Count(text, "start a Collector") != 1 || strings.Contains(text, "own: ")) {
				t.Errorf("the mend is not there once:\n%s", text)
			}
			i := strings.Index(text, want.last)
			if i < 0 || strings.Count(text, want.last) != 1 {
				t.Fatalf("no line, or more than one, says what was lost:\n%s", text)
			}
			line, _, _ := strings.Cut(text[i:], "\n")
			for _, fact := range []string{"events_lost=", "metric_exports_failed=", "spans_lost=3"} {
				if !strings.Contains(line, fact) {
					t.Errorf("the last line has no %s: %s", fact, line)
				}
			}
		})
	}
}
