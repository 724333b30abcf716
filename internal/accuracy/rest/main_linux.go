package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/dotnetipc/azmcp"
)

// role makes this program a Go process that has nothing to do.
const role = "OTELGC_REST_ROLE"

func main() {
	if os.Getenv(role) != "" {
		idle()
	}
	program().Main()
}

// idle wakes up ten times a second, and collects once a second.
func idle() {
	for i := 0; ; i++ {
		time.Sleep(100 * time.Millisecond)
		if i%10 == 0 {
			runtime.GC()
		}
	}
}

func program() report.Program {
	e := &experiment{}
	return report.Program{Name: "rest", Title: "What the sidecar costs at rest", Flags: e.flags, Measure: e.measure}
}

// experiment is what the flags say.
type experiment struct {
	warmup, span time.Duration
	binary       string
	log          io.Writer
	rows         [][]string
}

func (e *experiment) flags(f *flag.FlagSet) {
	f.DurationVar(&e.warmup, "warmup", 5*time.Second, "time before the measurement")
	f.DurationVar(&e.span, "span", time.Minute, "length of each measurement")
	f.StringVar(&e.binary, "sidecar", "", "the `program` that is measured; built from source if empty")
}

func (e *experiment) measure(ctx context.Context, s *report.Section, log io.Writer) (err error) {
	e.log = log
	dir, err := os.MkdirTemp("", "rest")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if e.binary == "" {
		e.binary = filepath.Join(dir, "otelgc-sidecar")
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", e.binary, "github.com/otelgc/otelgc/sidecar")
		build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), log
		if err := build.Run(); err != nil {
			return fmt.Errorf("build the sidecar: %w", err)
		}
	}
	service := exec.CommandContext(ctx, "/proc/self/exe")
	service.Env = append(os.Environ(), role+"=idle", "GOMAXPROCS=2")
	if err := service.Start(); err != nil {
		return fmt.Errorf("start a Go process: %w", err)
	}
	defer func() {
		_ = service.Process.Kill()
		_ = service.Wait() // killed
	}()
	e.rows = [][]string{{"sidecar", "CPU apart from the probe's thread", "wake-ups/s", "RssAnon + RssShmem", "exports"}}
	if err := e.once(ctx, dir, "alone", ""); err != nil {
		return err
	}
	if err := e.once(ctx, dir, "with a Go process as its target", strconv.Itoa(service.Process.Pid)); err != nil {
		return err
	}
	dotnet, err := azmcp.Start(azmcp.Options{})
	switch {
	case errors.Is(err, azmcp.ErrMissing):
		e.rows = append(e.rows, []string{"with a .NET process as its target", "n/a: no .NET process here", "", "", ""})
	case err != nil:
		return err
	default:
		defer dotnet.Kill()
		if err := dotnet.Initialize(); err != nil {
			return err
		}
		if err := e.once(ctx, dir, "with a .NET process as its target", strconv.Itoa(dotnet.PID())); err != nil {
			return err
		}
	}
	e.write(s)
	return nil
}

// once measures one run of the sidecar.
func (e *experiment) once(ctx context.Context, dir, name, target string) error {
	var exports atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the answer is the same
		exports.Add(1)
		w.Header().Set("Content-Type", "application/x-protobuf") // of an empty message: all is accepted
	}))
	defer collector.Close()
	args := []string{"run", "--board", filepath.Join(dir, "board")}
	if target != "" {
		args = append(args, "--target", target)
	}
	sidecar := exec.CommandContext(ctx, e.binary, args...)
	sidecar.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
	sidecar.Stderr = e.log
	if err := sidecar.Start(); err != nil {
		return err
	}
	u, err := e.usage(ctx, sidecar.Process.Pid)
	_ = sidecar.Process.Signal(os.Interrupt)
	if err := errors.Join(err, sidecar.Wait()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	e.rows = append(e.rows, []string{
		name, fmt.Sprintf("%.2f %%", 100*u.cpu.Seconds()/u.wall.Seconds()), fmt.Sprintf("%.0f", float64(u.slices)/u.wall.Seconds()),
		fmt.Sprintf("%.1f MiB", float64(u.memory)/(1<<20)), fmt.Sprint(exports.Load()),
	})
	fmt.Fprintln(e.log, e.rows[len(e.rows)-1])
	return nil
}
