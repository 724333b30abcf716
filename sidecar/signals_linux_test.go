package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
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

// TestHangup: a terminal that is closed ends the sidecar in good order, and one that is
// to outlive it, as with nohup(1), does not even hear of it.
func TestHangup(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("skipped: the test is to outlive its terminal, and so is all that it starts")
	}
	t.Parallel()
	quiet := []string{"OTEL_SDK_DISABLED=true"}
	args := []string{"run", "--json", "--mode", "periodic", "--board=off"}
	probing := func(b *background) func() bool {
		return func() bool { return strings.Contains(b.log(), "msg=probing") }
	}
	run := startSidecar(t, quiet, args...)
	run.await("it probed", probing(run))
	if err := run.end(syscall.SIGHUP); err != nil {
		t.Errorf("run: %v, want that it ends in good order: %s", err, run.log())
	}
	checkProbe(t, one[gaps.Document](t, run.stdout.String()))

	outlives := startCommand(t, quiet, exec.CommandContext(t.Context(), "sh", append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, binary}, args...)...))
	outlives.await("it probed", probing(outlives))
	if !ignores(t, outlives.cmd.Process.Pid, syscall.SIGHUP) {
		t.Error("it hears of a hangup that it is to outlive")
	}
	if err := outlives.end(syscall.SIGTERM); err != nil {
		t.Errorf("run: %v: %s", err, outlives.log())
	}
}

// ignores reports whether a process ignores a signal, by its status.
func ignores(t *testing.T, pid int, s syscall.Signal) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "SigIgn:\t")
	mask, err := strconv.ParseUint(strings.SplitN(rest, "\n", 2)[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask&(1<<(s-1)) != 0
}
