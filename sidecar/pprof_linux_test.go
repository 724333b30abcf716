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
	dir := t.TempDir()
	service := filepath.Join(dir, "service")
	main, err := os.ReadFile("testdata/service/main.go")
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(filepath.Join(dir, "main.go"), main, 0o600), os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/service\n\ngo 1.26\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", service, ".") // a module that has nothing of ours
	build.Dir = dir
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	err = errors.Join(os.Chmod(filepath.Dir(binary), 0o755), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)) // so that anybody can run them
	if err != nil {
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
			target := exec.CommandContext(t.Context(), service)
			target.Env = append(os.Environ(), "OTEL_SERVICE_NAME=orders")
			target.SysProcAttr = &syscall.SysProcAttr{Credential: c.user}
			out, err := target.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := target.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = target.Process.Kill()
				_ = target.Wait() // it was killed
			}()
			url, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			where := strings.TrimSpace(url)
			if c.auto {
				where = "auto"
			}
			receiver := otlptest.NewHTTP(t)
			cmd := exec.CommandContext(t.Context(), binary, "run", "--board=off", "--mode=periodic", "--json",
				"--duration=6s", "--target", fmt.Sprint(target.Process.Pid), "--pprof", where)
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
			if p := got.Pprof; p.Slices == 0 || p.Requests == 0 || p.Traced == 0 || p.Why != "" || p.Endpoint != strings.TrimSpace(url)+"/debug/pprof/trace" {
				t.Errorf("slices %+v, want some with requests:\n%s", p, &log)
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
