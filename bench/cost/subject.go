package cost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service/shop"
)

// binaries builds the services, each once.
type binaries struct {
	dir    string // where they are
	bench  string // directory of this module
	built  map[string]string
	copies int
}

func openBinaries(ctx context.Context, dir string) (*binaries, error) {
	bench, err := harness.ModuleDir(ctx, "github.com/otelgc/otelgc/bench")
	return &binaries{dir: dir, bench: bench, built: make(map[string]string)}, err
}

// get returns the binary of a setting in a shape.
func (b *binaries) get(ctx context.Context, s *shape, v *setting) (string, error) {
	dir, command, tags := b.bench, "./cost/subject", v.tags
	if v.name == "datadog" {
		dir, command = filepath.Join(b.bench, "cost", "datadog"), "."
	} else if s.kind == "grpc" {
		tags += " grpc"
	}
	key := command + " " + tags
	if path := b.built[key]; path != "" {
		return path, nil
	}
	path := filepath.Join(b.dir, fmt.Sprintf("shop%d", len(b.built)))
	// What a debugger reads is left out: it depends on the environment.
	if err := harness.BuildIn(ctx, dir, command, path, "-ldflags=-w", "-tags", strings.Join(strings.Fields(tags), ",")); err != nil {
		return "", err
	}
	b.built[key] = path
	return path, nil
}

// copy returns a new copy of a binary, to be removed by its user. Where the pages of a file
// happen to lie makes all of its processes faster or slower, and a probe that is put into
// one is in all of them.
func (b *binaries) copy(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	b.copies++
	path = fmt.Sprintf("%s-%d", path, b.copies)
	return path, os.WriteFile(path, text, 0o700)
}

// receiver takes all that a service exports, and counts it.
type receiver struct {
	*httptest.Server
	bytes atomic.Int64
}

func listen() *receiver {
	r := new(receiver)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		n, _ := io.Copy(io.Discard, q.Body) // what came before an error was sent, too
		r.bytes.Add(n)
		w.Header().Set("Content-Type", "application/x-protobuf") // of an empty message: all is accepted
	}))
	return r
}

// env has a process export to r.
func (r *receiver) env() []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"DD_TRACE_AGENT_URL=" + r.URL, "DD_INSTRUMENTATION_TELEMETRY_ENABLED=false", "DD_TRACE_STARTUP_LOGS=false",
	}
}

// subject is a service under load.
type subject struct {
	*harness.Child
	*load
	receiver *receiver
	address  string
	begin    time.Time // of its process
	side     Side      // its figures so far
	answers  []float64 // how long they took, in us
}

// start starts a service and waits for its first answer.
func (e *cost) start(ctx context.Context, s *shape, v *setting) (u *subject, err error) {
	path, err := e.binaries.get(ctx, s, v)
	if err != nil {
		return nil, err
	}
	if path, err = e.binaries.copy(path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	args := []string{"-live", strconv.Itoa(s.live)}
	if v.name != "datadog" {
		args = append(args, "-shape", s.kind, "-watcher", v.watcher)
	}
	u = &subject{Child: &harness.Child{Cmd: exec.Command(path, args...)}, load: new(load), receiver: listen(), side: Side{BinaryB: info.Size()}}
	u.Env = append(append(os.Environ(), u.receiver.env()...), v.env...)
	if s.gogc != "" {
		u.Env = append(u.Env, "GOGC="+s.gogc)
	}
	u.Stderr = os.Stderr
	u.begin = time.Now()
	if err := u.StartOn(e.cpus, &u.address); err != nil {
		u.receiver.Close()
		return nil, err
	}
	if err = u.connect(s.kind, u.address); err == nil {
		if err = u.callers[0].Order(); err == nil {
			u.side.StartMS = 1e3 * time.Since(u.begin).Seconds()
			return u, nil
		}
		err = errors.Join(err, u.load.close())
	}
	u.receiver.Close()
	return nil, errors.Join(err, u.Stop(nil))
}

// finish ends the service, and counts what it exported.
func (u *subject) finish(s *Side) (err error) {
	u.side.Answers = int64(len(u.answers))
	u.side.P50, u.side.P99, u.side.P999 = harness.Quantile(u.answers, 0.5), harness.Quantile(u.answers, 0.99), harness.Quantile(u.answers, 0.999)
	u.side.PeakKB, err = peak(u.Process.Pid)
	var written shop.Usage
	err = errors.Join(err, u.Ask("written", &written))
	err = errors.Join(err, u.stop())
	u.side.LifeS, u.side.OutB = time.Since(u.begin).Seconds(), u.receiver.bytes.Load()
	if written.Wall == 0 { // a service that knows the command
		u.side.OutB += written.Served
	}
	*s = u.side
	return err
}

// stop ends the service.
func (u *subject) stop() error {
	err := errors.Join(u.load.close(), u.Stop(nil), os.Remove(u.Path))
	u.receiver.Close()
	return err
}

// peak returns the most memory that a process had resident, in KB (proc_pid_status(5)).
func peak(pid int) (kb int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			_, err := fmt.Sscan(value, &kb)
			return kb, err
		}
	}
	return 0, fmt.Errorf("read status of process %d: no VmHWM", pid)
}
