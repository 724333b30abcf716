package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/race"
)

// binary is the sidecar, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if race.Enabled {
		fmt.Println("skipped: all that these tests do is run a binary that is built without the race detector")
		return 0
	}
	dir, err := os.MkdirTemp("", "otelgc-sidecar-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "otelgc-sidecar")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build sidecar: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// withoutCollector has a sidecar whose Collector is not there: port 9 is discard.
// withoutExport has one that does not wait for it when it ends.
var (
	withoutCollector = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9"}
	withoutExport    = []string{"OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none", "OTEL_TRACES_EXPORTER=none"}
)

// sidecar runs the binary with its temporary files in a directory of the test.
func sidecar(t *testing.T, environment []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	stdout, stderr, state := endedSidecar(t, environment, args...)
	return stdout, stderr, state.ExitCode()
}

// endedSidecar is sidecar for who asks more than the exit code.
func endedSidecar(t *testing.T, environment []string, args ...string) (stdout, stderr string, state *os.ProcessState) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+t.TempDir()), environment...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState
}

// background is the binary, running until the test ends it.
type background struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer // to be read when it has ended
	stderr string       // path
	done   chan struct{}
	err    error // how it ended
}

func startSidecar(t *testing.T, environment []string, args ...string) *background {
	t.Helper()
	return startCommand(t, environment, exec.CommandContext(t.Context(), binary, args...))
}

// startCommand is startSidecar of a command that becomes one.
func startCommand(t *testing.T, environment []string, cmd *exec.Cmd) *background {
	t.Helper()
	b := &background{t: t, cmd: cmd, done: make(chan struct{})}
	b.cmd.Env = append(os.Environ(), environment...)
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stderr.Close() }() // the child has its own
	b.stderr = stderr.Name()
	b.cmd.Stdout, b.cmd.Stderr = &b.stdout, stderr
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(b.done)
		b.err = b.cmd.Wait()
	}()
	t.Cleanup(func() { <-b.done }) // t.Context has ended, which kills it
	return b
}

func (b *background) log() string {
	b.t.Helper()
	text, err := os.ReadFile(b.stderr)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// await waits until is holds. A process that ends before that fails the test; one
// that hangs is ended by the deadline of the test binary.
func (b *background) await(what string, is func() bool) {
	b.t.Helper()
	for !is() {
		select {
		case <-b.done:
			b.t.Fatalf("it ended before %s: %v: %s", what, b.err, b.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// end sends the signal and returns how the process ended.
func (b *background) end(s os.Signal) error {
	b.t.Helper()
	if err := b.cmd.Process.Signal(s); err != nil {
		b.t.Fatal(err)
	}
	<-b.done
	return b.err
}

const notLoopback = "want an address of this machine alone, such as 127.0.0.1:8081: the page shows command lines; from elsewhere reach it by ssh -L"

func TestWrongArguments(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{nil, "no command: want run, probe, demo, doctor, report or version (see otelgc-sidecar help)"},
		{[]string{"dance"}, `unknown command "dance": want run, probe, demo, doctor, report or version (see otelgc-sidecar help)`},
		{[]string{"help", "dance"}, `unknown command "dance": want run, probe, demo, doctor, report or version (see otelgc-sidecar help)`},
		{[]string{"probe", "--foo"}, "probe: unknown flag --foo (see otelgc-sidecar probe --help)"},
		{[]string{"probe", "--cpu"}, "probe: no value for flag --cpu (see otelgc-sidecar probe --help)"},
		{[]string{"probe", "--cpu", "x"}, `probe: invalid value "x" for flag --cpu: want a whole number (see otelgc-sidecar probe --help)`},
		{[]string{"probe", "--json=x"}, `probe: invalid boolean value "x" for --json: want true or false (see otelgc-sidecar probe --help)`},
		{[]string{"probe", "x"}, `probe: argument "x" is not wanted (see otelgc-sidecar probe --help)`},
		{[]string{"probe", "--cpu", "-1"}, "probe: --cpu -1: want the number of a CPU"},
		{[]string{"probe", "--mode", "fast"}, `probe: --mode "fast": want auto, spin, runtime or periodic`},
		{[]string{"probe", "--threshold", "1ns"}, "probe: --threshold 1ns: want 50ns to 1m0s"},
		{[]string{"probe", "--duration", "-1s"}, "probe: --duration -1s: want more than 0s and at most 24h0m0s"},
		{[]string{"doctor", "--mode", "auto"}, `doctor: --mode "auto": want spin, runtime or periodic`},
		{[]string{"doctor", "--cpu", "-2"}, "doctor: --cpu -2: want the number of a CPU"},
		{[]string{"doctor", "--target", "-2"}, "doctor: --target -2: want the PID of a process"},
		{[]string{"doctor", "--self-test", "1h"}, "doctor: --self-test 1h0m0s: want 0s to 1m0s"},
		{[]string{"run", "--duration", "-1s"}, "run: --duration -1s: want 0s or more"},
		{[]string{"run", "--duration", "5"}, `run: invalid value "5" for flag --duration: want a time such as 10s or 1m30s (see otelgc-sidecar run --help)`},
		{[]string{"run", "--target", ""}, "run: --target: want PID|name|auto, got nothing"},
		{[]string{"run", "--record="}, "run: --record: want file, got nothing"},
		{[]string{"run", "--page="}, "run: --page: want address, got nothing"},
		{[]string{"run", "--page", "8081"}, "run: --page 8081: want a host and a port, such as 127.0.0.1:8081"},
		{[]string{"run", "--page", "0.0.0.0:0"}, "run: --page 0.0.0.0:0: " + notLoopback},
		{[]string{"run", "--page", ":0"}, "run: --page :0: " + notLoopback},
		{[]string{"run", "--target", "0"}, "run: --target 0: 0 is no process: want a number above zero"},
		{[]string{"demo", "--inject", "x"}, `demo: --inject: parse injection "x": want none, forced-gc, stw, cpu-hog or throttle`},
		{[]string{"demo", "--live-heap", "lots"}, `demo: --live-heap: parse size "lots": want a number of bytes such as 64MiB`},
		{[]string{"demo", "--live-heap", "1"}, "demo: --live-heap 1: want 1MiB to 16GiB"},
		{[]string{"demo", "--rate", "0"}, "demo: plan arrivals: rate 0: want more than 0"},
		{[]string{"demo", "--duration", "2h"}, "demo: plan arrivals: duration 2h0m0s: want more than 0s and at most 1h0m0s"},
		{[]string{"demo", "--rate", "1e9"}, "demo: plan arrivals: 1e+09/s for 15s are 15000000000 requests, at most 1000000: lower the rate or the duration"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			stdout, stderr, code := sidecar(t, nil, tt.args...)
			if want := "otelgc-sidecar: " + tt.want + "\n"; code != 2 || stderr != want || stdout != "" {
				t.Errorf("exit %d, stdout %q, stderr\n%q, want exit 2 and\n%q", code, stdout, stderr, want)
			}
		})
	}
}

func TestProbeOnACPUThatDoesNotExist(t *testing.T) {
	for _, args := range [][]string{{"probe"}, {"run", "--board=off"}} {
		stdout, stderr, code := sidecar(t, nil, append(args, "--cpu", "1023")...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, "probe cpu 1023: not ") || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "export") {
			t.Errorf("%v: exit %d, stdout %q, stderr %q, want exit 2 and one line about cpu 1023 alone", args, code, stdout, stderr)
		}
	}
}

// TestVersion: of this build, and of the kernel.
func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}, {"version", "--json"}} {
		stdout, stderr, code := sidecar(t, nil, args...)
		for _, want := range []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, "rights.uprobe"} {
			if want == "rights.uprobe" && runtime.GOOS != "linux" {
				continue
			}
			if code != 0 || stderr != "" || !strings.Contains(stdout, want) {
				t.Errorf("%v: exit %d, stderr %q, stdout without %q: %s", args, code, stderr, want, stdout)
			}
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}, {"help", "report"}, {"version", "-h"}, {"probe", "--help"}, {"run", "-h"}, {"demo", "--help"}, {"doctor", "--help"}} {
		stdout, stderr, code := sidecar(t, nil, args...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "otelgc-sidecar") {
			t.Errorf("%v: exit %d, stderr %q, stdout %q", args, code, stderr, stdout)
		}
	}
}
