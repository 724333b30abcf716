package azmcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Options of a [Process]. The zero value is a plain one.
type Options struct {
	// Env is added to the environment, such as "DOTNET_gcServer=1".
	Env []string
	// Name is what the process is called, by a link to the program; azmcp if
	// empty.
	Name string
	// Wrap is a command that runs the program, such as unshare.
	Wrap []string
	// TempDir is its TMPDIR; one that goes with the process if empty. It has
	// to be short: the path of a socket is at most 107 bytes.
	TempDir string
	// Around starts the process by calling the function it is given; nil just
	// starts it.
	Around func(start func() error) error
}

// Process is a running process. It is for one goroutine.
type Process struct {
	TempDir string

	cmd    *exec.Cmd
	clock  stall.Clock
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	next   int
	end    func() error // waits for the end, and clears up
}

// Start starts a process.
func Start(o Options) (*Process, error) {
	program, err := Find()
	if err != nil {
		return nil, err
	}
	p := &Process{TempDir: o.TempDir}
	if p.clock, err = stall.NewClock(); err != nil {
		return nil, err
	}
	tidy := func() {}
	if p.TempDir == "" {
		if p.TempDir, err = os.MkdirTemp("", "dn"); err != nil {
			return nil, err
		}
		tidy = func() { _ = os.RemoveAll(p.TempDir) }
	}
	if err := p.start(program, o); err != nil {
		tidy()
		return nil, fmt.Errorf("start azmcp: %w", err)
	}
	p.end = sync.OnceValue(func() error {
		defer tidy()
		return p.cmd.Wait()
	})
	return p, nil
}

func (p *Process) start(program string, o Options) error {
	if o.Name != "" {
		link := filepath.Join(p.TempDir, o.Name)
		if err := os.Symlink(program, link); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		program = link
	}
	command := append(slices.Clone(o.Wrap), program, "server", "start")
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Env = append(environment(), "TMPDIR="+p.TempDir, "HOME="+p.TempDir, "AZURE_MCP_COLLECT_TELEMETRY=false")
	p.cmd.Env = append(p.cmd.Env, o.Env...)
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	// Fd makes the pipe block: the thread that reads is the one that waits.
	out.(*os.File).Fd()
	p.out = bufio.NewReaderSize(out, 1<<20)
	if o.Around != nil {
		return o.Around(p.cmd.Start)
	}
	return p.cmd.Start()
}

// environment is ours without what would change the process or its telemetry.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		for _, prefix := range []string{"DOTNET_", "COMPlus_", "OTEL_", "TMPDIR=", "HOME="} {
			if strings.HasPrefix(entry, prefix) {
				return true
			}
		}
		return false
	})
}

// PID returns the number of the process. If Options.Wrap forks, it is the
// wrapper's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// endFor is how long a process may take to end in good order.
const endFor = 3 * time.Minute

// Stop ends the process as its client would: by the end of its input.
func (p *Process) Stop() error {
	_ = p.in.Close()
	timer := time.AfterFunc(endFor, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	if err := p.end(); err != nil {
		return fmt.Errorf("the process did not end in good order: %w\n%s", err, p.stderr.String())
	}
	return nil
}

// Kill ends the process with SIGKILL, which leaves its socket behind.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.end()
}
