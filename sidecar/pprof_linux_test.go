package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/otelgc/otelgc/internal/gouprobe"
	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/semconv"
)

// TestPprof asks a Go process that knows nothing of it for its trace: with rights its stops
// come by probes and its requests by slices, without by slices alone.
func TestPprof(t *testing.T) {
	const nobody = 65534
	if err := gouprobe.Supported(); err != nil || os.Geteuid() != 0 {
		t.Skip("want root, and ", err)
	}
	if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil { // so that anybody can run them
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		user          *syscall.Credential
		auto          bool
		source, doors string
	}{
		"with rights": {nil, true, "gouprobe", "both"},
		"a URL":       {nil, false, "gouprobe", "both"},
		"without":     {&syscall.Credential{Uid: nobody, Gid: nobody}, true, "gotrace", "tracer"},
	} {
		t.Run(name, func(t *testing.T) {
			target := startService(t, c.user)
			where := target.url
			if c.auto {
				where = "auto"
			}
			receiver := otlptest.NewHTTP(t)
			cmd := exec.CommandContext(t.Context(), binary, "run", "--board=off", "--mode=periodic", "--json",
				"--duration=6s", "--target", fmt.Sprint(target.cmd.Process.Pid), "--pprof", where)
			cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+receiver.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.user}
			var log strings.Builder
			cmd.Stderr = &log
			stdout, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, &log)
			}
			run := one[struct {
				Targets []struct {
					Service, Source, Doors string
					Collections            struct{ Total uint64 }
					PauseTotal             int64 `json:"pause_total"`
					Pprof                  struct {
						Endpoint         string
						Slices, Requests uint64
						Traced           int64
						Why              string
					}
				}
			}](t, string(stdout))
			if len(run.Targets) != 1 {
				t.Fatalf("%d targets: %s", len(run.Targets), &log)
			}
			got := run.Targets[0]
			if got.Service != "orders" || got.Source != c.source || got.Doors != c.doors || got.Collections.Total == 0 || got.PauseTotal == 0 {
				t.Errorf("target %+v, want orders, seen by %s through %s, with collections", got, c.source, c.doors)
			}
			if p := got.Pprof; p.Slices == 0 || p.Requests == 0 || p.Traced == 0 || p.Why != "" || p.Endpoint != target.url+"/debug/pprof/trace" {
				t.Errorf("slices %+v, want some with requests:\n%s", p, &log)
			}
			if got := strings.Count(log.String(), "needs CAP_BPF and CAP_PERFMON") == 1; got != (c.user != nil) {
				t.Errorf("it says once which rights it lacks: %t:\n%s", got, &log)
			}
			counted := slices.ContainsFunc(receiver.Metrics(), func(m otlptest.Metric) bool {
				return m.GetName() == semconv.MetricRequests && slices.ContainsFunc(m.GetSum().GetDataPoints(), func(d *metrics.NumberDataPoint) bool {
					return otlptest.Attribute(d.GetAttributes(), semconv.AttrTask).GetStringValue() == "GET /orders"
				})
			})
			if !counted {
				t.Errorf("no metric has the requests of GET /orders")
			}
		})
	}
}

// buildService builds a service that knows nothing of otelgc, beside the sidecar.
var buildService = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(filepath.Dir(binary), "service")
	main, err := os.ReadFile("testdata/service/main.go")
	if err != nil {
		return "", err
	}
	err = errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "main.go"), main, 0o600),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/service\n\ngo 1.26\n"), 0o600))
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", "service", ".") // a module that has nothing of ours
	build.Dir = dir
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return filepath.Join(dir, "service"), nil
})

// service is one that runs.
type service struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Reader
	url string
}

// startService starts a service of a user, nil for the test's own. It ends with the test.
func startService(t *testing.T, user *syscall.Credential) *service {
	t.Helper()
	path, err := buildService()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "OTEL_SERVICE_NAME=orders")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	s := &service{t: t, cmd: cmd, out: bufio.NewReader(out)}
	s.url = s.read()
	return s
}

func (s *service) read() string {
	s.t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// traced waits until the service's tracer begins, or ends.
func (s *service) traced(begins bool) {
	s.t.Helper()
	if got, want := s.read(), fmt.Sprint("tracing ", begins); got != want {
		s.t.Fatalf("the service says %q, want %q", got, want)
	}
}
