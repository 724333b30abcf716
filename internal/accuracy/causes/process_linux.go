package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// process is a running child, as its parent sees it.
type process struct {
	hello  hello
	cgroup string // that it is in
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
}

func startChild(spec childSpec) (*process, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own binary: %w", err)
	}
	p := &process{cgroup: spec.Join, cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), specEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if spec.Away {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	p.out = json.NewDecoder(bufio.NewReader(out))
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	if err := p.out.Decode(&p.hello); err != nil {
		_, endErr := p.end()
		return nil, errors.Join(fmt.Errorf("read child: %w", err), endErr)
	}
	return p, nil
}

// end has the child say its last word and waits for it.
func (p *process) end() (s seen, err error) {
	_ = p.in.Close()
	if err = p.out.Decode(&s); err != nil {
		err = fmt.Errorf("read child: %w", err)
	}
	if waitErr := p.cmd.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("child: %w", waitErr))
	}
	return s, err
}
