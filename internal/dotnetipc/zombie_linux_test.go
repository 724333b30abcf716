package dotnetipc

import (
	"errors"
	"os/exec"
	"testing"
	"time"
)

// TestZombie: a process that was killed and that nobody has waited for has ended.
func TestZombie(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Skipf("start sleep: %v", err)
	}
	pid := cmd.Process.Pid
	defer func() { _ = cmd.Wait() }()
	if _, err := (Proc{}).Identify(pid); err != nil {
		t.Errorf("alive: got %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) { // until the kernel has ended it
		_, err := Proc{}.Identify(pid)
		if errors.Is(err, ErrNoProcess) {
			break
		}
		if err != nil || time.Since(begin) > 30*time.Second {
			t.Fatalf("killed: got %v, want %v", err, ErrNoProcess)
		}
	}
	if _, err := (Proc{}).Locate(t.Context(), pid); !errors.Is(err, ErrNoProcess) {
		t.Errorf("locate: got %v, want %v", err, ErrNoProcess)
	}
}
