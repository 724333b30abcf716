// Package sidecar measures what the sidecar costs itself and the processes that it
// watches.
package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
)

// program is the sidecar's binary, and a receiver that takes all that it exports.
type program struct {
	path     string
	dir      string // for its files
	endpoint string

	attachedLine string                    // what it logs when it watches a process
	command      func(*exec.Cmd) *exec.Cmd // how it is run; nil: as it is
}

// with calls f while the binary and the receiver are there.
func (m *program) with(ctx context.Context, f func() error) error {
	return harness.TempDir(func(dir string) error {
		var err error
		if m.path, err = harness.BuildSidecar(ctx, dir); err != nil {
			return err
		}
		m.dir = dir
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)                       // the answer is the same
			w.Header().Set("Content-Type", "application/x-protobuf") // of an empty message: all is accepted
		}))
		defer receiver.Close()
		m.endpoint = receiver.URL
		return f()
	})
}

// process is a running sidecar.
type process struct {
	*exec.Cmd
	stdout bytes.Buffer
	log    logBuffer
}

// logBuffer is what a process has logged so far.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// attachFor is how long the sidecar may take to attach.
const attachFor = time.Minute

// around calls f while the sidecar runs and watches n processes, and returns what the
// sidecar saw of each.
func (m *program) around(n int, args []string, f func(*process) error) ([]watched, error) {
	s := &process{Cmd: exec.Command(m.path, append([]string{"run", "--json"}, args...)...)}
	if m.command != nil {
		s.Cmd = m.command(s.Cmd)
	}
	s.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+m.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
	s.Stdout, s.Stderr = &s.stdout, &s.log
	if err := s.Start(); err != nil {
		return nil, fmt.Errorf("start sidecar: %w", err)
	}
	err := s.attached(m.attachedLine, n)
	if err == nil {
		err = f(s)
	}
	if err != nil {
		_ = s.Process.Kill()
		_ = s.Wait() // killed
		return nil, fmt.Errorf("%w\n%s", err, s.log.String())
	}
	return s.stop()
}

// attached returns when the sidecar has logged n times that it watches a process.
func (s *process) attached(line string, n int) error {
	for end := time.Now().Add(attachFor); strings.Count(s.log.String(), line) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("the sidecar does not watch %d processes", n)
		}
	}
	return nil
}

// watched is what the sidecar reports of a process.
type watched struct {
	Sessions    int    `json:"sessions"`
	FirstIndex  uint64 `json:"first_index"`
	LastIndex   uint64 `json:"last_index"`
	Collections struct {
		Total uint64 `json:"total"`
	} `json:"collections"`
	Incomplete uint64        `json:"incomplete"`
	Lost       uint64        `json:"lost"`
	Watched    time.Duration `json:"watched"`
	Pulled     struct {
		Slices   uint64 `json:"slices"`
		Requests uint64 `json:"requests"`
	} `json:"pprof"`
}

// add adds what was seen of other processes, or in other stretches.
func (w *watched) add(list []watched) {
	for _, v := range list {
		w.Collections.Total += v.Collections.Total
		w.Lost += v.Lost
		w.Watched += v.Watched
		w.Pulled.Slices += v.Pulled.Slices
		w.Pulled.Requests += v.Pulled.Requests
	}
}

// rate returns the collections per second.
func (w *watched) rate() float64 {
	return float64(w.Collections.Total) / max(1e-9, w.Watched.Seconds())
}

// stop ends the sidecar and returns what it saw.
func (s *process) stop() ([]watched, error) {
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		return nil, fmt.Errorf("end sidecar: %w", err)
	}
	if err := s.Wait(); err != nil {
		return nil, fmt.Errorf("end sidecar: %w\n%s", err, s.log.String())
	}
	var document struct {
		Targets []watched `json:"targets"`
	}
	if err := json.Unmarshal(s.stdout.Bytes(), &document); err != nil {
		return nil, fmt.Errorf("read what the sidecar saw: %w", err)
	}
	return document.Targets, nil
}

// Beside calls f with the process ID of a sidecar, while that watches a Go process as args
// have it, and exports to an endpoint.
func Beside(binary, endpoint string, args []string, f func(pid int) error) error {
	m := &program{path: binary, endpoint: endpoint, attachedLine: "watching a Go process", command: niced}
	_, err := m.around(1, args, func(p *process) error { return f(p.Process.Pid) })
	return err
}
