package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

const childEnv = "OTELGC_BENCH_CHILD"

// RunChild runs f with the specification of its parent and exits, if this process
// is a child that was started under name. Child and parent exchange JSON
// documents; the child ends when its standard input does.
func RunChild[T any](name string, f func(spec T) error) {
	if os.Getenv(childEnv) != name {
		return
	}
	var spec T
	err := json.Unmarshal([]byte(os.Getenv(childEnv+"_SPEC")), &spec)
	if err == nil {
		err = f(spec)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Child is a child process as its parent sees it. It is for one goroutine.
type Child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// NewChild prepares a child that runs this program under name. See RunChild.
func NewChild(name string, spec any) (*Child, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode specification: %w", err)
	}
	c := &Child{Cmd: exec.Command("/proc/self/exe")}
	c.Env = append(os.Environ(), childEnv+"="+name, childEnv+"_SPEC="+string(text))
	c.Stderr = os.Stderr
	return c, nil
}

// StartOn starts the child on cpus, or anywhere if cpus is nil, and reads its
// first document.
func (c *Child) StartOn(cpus []int, first any) (err error) {
	if c.in, err = c.StdinPipe(); err != nil {
		return fmt.Errorf("start child: %w", err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start child: %w", err)
	}
	c.out = json.NewDecoder(out)
	if err := PinAround(cpus, c.Start); err != nil {
		return fmt.Errorf("start child: %w", err)
	}
	if err := c.Read(first); err != nil {
		return errors.Join(err, c.Stop(nil))
	}
	return nil
}

// Ask sends a line and reads the answer.
func (c *Child) Ask(line string, answer any) error {
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		return fmt.Errorf("ask child: %w", err)
	}
	return c.Read(answer)
}

// Read reads one document.
func (c *Child) Read(to any) error {
	if err := c.out.Decode(to); err != nil {
		return fmt.Errorf("read child: %w", err)
	}
	return nil
}

// Stop ends the child's input, reads its last document unless last is nil, and
// waits for it.
func (c *Child) Stop(last any) (err error) {
	_ = c.in.Close() // the child may have ended
	if last != nil {
		err = c.Read(last)
	}
	if waitErr := c.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("child: %w", waitErr))
	}
	return err
}
