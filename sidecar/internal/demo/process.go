package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// process is a child: this binary again, in another role. It ends when its
// standard input is closed.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	pipe  *os.File // what the child writes, to be closed by who reads it; nil if it writes nothing
	once  sync.Once
	done  chan struct{}
	err   error
}

// startProcess starts a child, which is killed when ctx ends.
func startProcess(ctx context.Context, role string, o childOptions, withPipe bool) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own binary: %w", err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode options of %s: %w", role, err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, optionsVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second
	p := &process{cmd: cmd, done: make(chan struct{})}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("make pipe to %s: %w", role, err)
	}
	var theirs *os.File
	if withPipe {
		if p.pipe, theirs, err = os.Pipe(); err != nil {
			return nil, errors.Join(fmt.Errorf("make pipe from %s: %w", role, err), p.stdin.Close())
		}
		cmd.ExtraFiles = []*os.File{theirs}
	}
	err = cmd.Start()
	if theirs != nil {
		_ = theirs.Close() // the child has its own
	}
	if err != nil {
		if p.pipe != nil {
			_ = p.pipe.Close()
		}
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	go func() {
		defer close(p.done)
		if err := cmd.Wait(); err != nil {
			p.err = fmt.Errorf("%s ended: %w", role, err)
		}
	}()
	return p, nil
}

// end asks the child to end. It may be called again.
func (p *process) end() { p.once.Do(func() { _ = p.stdin.Close() }) }

// stop ends the child, by force after limit, and returns how it ended.
func (p *process) stop(limit time.Duration) error {
	p.end()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		_ = p.cmd.Process.Kill() // it may have ended by now
		<-p.done
	}
	return p.err
}
