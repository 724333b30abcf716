package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// sidecar is the binary that is measured, running.
type sidecar struct {
	cmd    *exec.Cmd
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

// attach starts the sidecar and returns when it watches n processes.
func (b *bench) attach(n int, args ...string) (*sidecar, error) {
	s := &sidecar{}
	s.cmd = exec.Command(b.binary, append([]string{"run", "--mode", "periodic", "--board", "off", "--json"}, args...)...)
	s.cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+b.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.log
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start sidecar: %w", err)
	}
	for end := time.Now().Add(attachFor); strings.Count(s.log.String(), "watching a .NET process") < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
			return nil, fmt.Errorf("the sidecar does not watch %d processes:\n%s", n, s.log.String())
		}
	}
	return s, nil
}

// watched is what the sidecar says of a process when it ends.
type watched struct {
	Sessions    int    `json:"sessions"`
	FirstIndex  uint64 `json:"first_index"`
	LastIndex   uint64 `json:"last_index"`
	Collections struct {
		Total uint64 `json:"total"`
	} `json:"collections"`
	Incomplete uint64 `json:"incomplete"`
	Lost       uint64 `json:"lost"`
	Watched    int64  `json:"watched"`
}

// detach ends the sidecar in good order and returns what it saw.
func (s *sidecar) detach() ([]watched, error) {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return nil, fmt.Errorf("end sidecar: %w", err)
	}
	if err := s.cmd.Wait(); err != nil {
		return nil, fmt.Errorf("end sidecar: %w\n%s", err, s.log.String())
	}
	var document struct {
		Targets []watched `json:"targets"`
	}
	if err := json.Unmarshal(s.stdout.Bytes(), &document); err != nil {
		return nil, fmt.Errorf("read what the sidecar saw: %w", err)
	}
	if len(document.Targets) == 0 {
		return nil, fmt.Errorf("the sidecar saw nothing:\n%s", s.log.String())
	}
	return document.Targets, nil
}

// kill ends it whatever it does. It is for errors.
func (s *sidecar) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}
