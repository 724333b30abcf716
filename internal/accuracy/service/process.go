package service

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/pin"
)

// Process is a running child, as its parent sees it. It is for one goroutine.
type Process struct {
	Addr string // of its HTTP server

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts a child on cpus, or anywhere if cpus is nil.
func Start(spec Spec, cpus []int) (*Process, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode spec: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own binary: %w", err)
	}
	p := &Process{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), specEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	p.out = bufio.NewReader(out)
	if err := pin.Around(cpus, p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	var h hello
	if err := p.read(&h); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	p.Addr = h.Addr
	return p, nil
}

// Now returns what the child has used so far.
func (p *Process) Now() (Usage, error) { return p.ask("now") }

// AtSlice returns what the child had used when the next tracing slice began, or
// after limit if none did.
func (p *Process) AtSlice(limit time.Duration) (Usage, error) {
	return p.ask("slice " + limit.String())
}

// Stop ends the child and waits for it.
func (p *Process) Stop() error {
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("stop child: %w", err)
	}
	return nil
}

func (p *Process) ask(command string) (Usage, error) {
	var u Usage
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		return u, fmt.Errorf("ask child: %w", err)
	}
	return u, p.read(&u)
}

func (p *Process) read(to any) error {
	text, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read child: %w", err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("read child: %w", err)
	}
	return nil
}
