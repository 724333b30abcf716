package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/gaps"
)

// atOnce is how soon after the first signal one is no second thought: less than
// what the sidecar takes for one, a second.
const atOnce = 900 * time.Millisecond

// TestASignalThatComesTwice: timeout(1), and others that end a whole group, send
// the program their signal twice. It ends in good order.
func TestASignalThatComesTwice(t *testing.T) {
	address, taken := hang(t) // which makes the end take seconds
	run := startSidecar(t, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_BLRP_SCHEDULE_DELAY=100", "OTEL_METRIC_EXPORT_INTERVAL=100",
	}, "run", "--json", "--mode", "periodic", "--board=off")
	run.await("it was exporting", func() bool { return len(taken) > 0 })
	begin := time.Now()
	if err := run.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // it has taken the first one, or the two are one
	err := run.cmd.Process.Signal(syscall.SIGTERM)
	took := time.Since(begin)
	<-run.done
	switch {
	case took > atOnce:
		t.Skipf("skipped: the machine took %v between two signals: the second one was to kill", took)
	case err != nil:
		t.Fatalf("it ended within %v of the first signal, which was to take seconds: %v", took, err)
	case run.err != nil:
		t.Fatalf("run: %v, want that it ends in good order: %s", run.err, run.log())
	}
	checkProbe(t, one[gaps.Document](t, run.stdout.String()))
}
