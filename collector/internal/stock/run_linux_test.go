package stock

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is a guard against waiting for ever, and says nothing about speed.
const patience = 5 * time.Minute

// One of each signal, and what of it is to come out.
var signals = []struct{ path, body, file, want string }{
	{"/v1/metrics", `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"otelgc.jitter.observed.time","unit":"s","sum":{"aggregationTemporality":2,
"isMonotonic":true,"dataPoints":[{"timeUnixNano":"%d","asDouble":1}]}}]}]}]}`, "metrics.jsonl", "otelgc.jitter.observed.time"},
	{"/v1/logs", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"%d","eventName":"otelgc.jitter.gap"}]}]}]}`, "logs.jsonl", "otelgc.jitter.gap"},
	{"/v1/traces", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","name":"order",
"startTimeUnixNano":"%[1]d","endTimeUnixNano":"%[1]d"}]}]}]}`, "traces.jsonl", `"order"`},
}

// TestRuns: the Collector starts with the file, and hands on what it is sent.
func TestRuns(t *testing.T) {
	grpc, web, health, page, self := address(t), address(t), address(t), address(t), address(t)
	_, port, _ := strings.Cut(self, ":")
	out := filepath.Join(t.TempDir(), "out")
	cmd := collector(t, []string{
		"OTELGC_COLLECTOR_GRPC=" + grpc, "OTELGC_COLLECTOR_HTTP=" + web, "OTELGC_COLLECTOR_HEALTH=" + health,
		"OTELGC_COLLECTOR_PROMETHEUS=" + page, "OTELGC_COLLECTOR_SELF_PORT=" + port, "OTELGC_OUT=" + out,
	}, "--config", config)
	log := filepath.Join(t.TempDir(), "log")
	said, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended if all is well
		if text, _ := os.ReadFile(log); t.Failed() {
			t.Logf("the Collector said:\n%s", text)
		}
	})

	eventually(t, "health", func() error { _, err := ask("http://"+health+"/", ""); return err })
	for _, s := range signals {
		if _, err := ask("http://"+web+s.path, fmt.Sprintf(s.body, time.Now().UnixNano())); err != nil {
			t.Fatal(err)
		}
		eventually(t, s.file, func() error { return holds(filepath.Join(out, s.file), s.want) })
	}
	eventually(t, "the page for Prometheus", func() error {
		text, err := ask("http://"+page+"/metrics", "")
		if err == nil && !strings.Contains(text, "otelgc_jitter_observed_time_seconds_total") {
			err = fmt.Errorf("it has\n%s", text)
		}
		return err
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the Collector ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the Collector does not end")
	}
}

// collector returns this test's binary as a Collector, without the machine's own
// settings.
func collector(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OTEL") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, env...), asCollector+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// address returns one of loopback that nobody listens on, of a port that Linux
// hands out to nobody by itself (ip_local_port_range begins at 32768). The UDP port is
// taken until the test ends: other tests do as much.
func address(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		taken, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = taken.Close() }) // nothing was said on it
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close() // it is only asked whether it is free
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

var client = &http.Client{Timeout: time.Minute}

// ask gets a page, or posts a body of JSON.
func ask(url, body string) (string, error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: status %s: %s", method, url, answer.Status, text)
	}
	return string(text), err
}

func holds(file, want string) error {
	text, err := os.ReadFile(file)
	if err == nil && !strings.Contains(string(text), want) {
		err = fmt.Errorf("%s has no %s", file, want)
	}
	return err
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}
