package proc

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// TestProgramOfTheDead: a process that has ended executes no program, even before its
// parent waits for it.
func TestProgramOfTheDead(t *testing.T) {
	c := exec.Command("sleep", "100")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Wait() }() // it was killed
	root, process := os.DirFS("/"), "proc/"+strconv.Itoa(c.Process.Pid)
	if got, err := Program(root, process); len(got) == 0 || err != nil {
		t.Errorf("program of a process that runs: %d bytes, %v", len(got), err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var err error
		if got, err = Program(root, process); err != nil {
			t.Fatalf("program of one that has ended: %v, want none", err)
		} else if len(got) == 0 {
			return
		}
	}
	t.Errorf("program of one that has ended: %d bytes, want none", len(got))
}
