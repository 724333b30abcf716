package stall

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClockInTimeNamespace: a process whose CLOCK_MONOTONIC is off by a day
// still tells the time of the host.
func TestClockInTimeNamespace(t *testing.T) {
	const ask = "STALL_TEST_NOW"
	if os.Getenv(ask) != "" {
		c, err := NewClock()
		fmt.Printf("now=%d namespace=%d err=%v\n", c.Now(), c.Namespace(), err)
		return
	}
	here, err := NewClock()
	if err != nil {
		t.Fatal(err)
	}
	if here.Namespace() != 0 {
		t.Skip("this process is in a time namespace itself")
	}
	// Under an emulator unshare(1) would leave this program to a shell, which takes it for
	// a script and makes files of its bytes.
	if err := exec.Command(os.Args[0], "-test.run=^$").Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this program: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	before := here.Now()
	cmd := exec.Command("unshare", "--fork", "--time", "--monotonic", "86400", os.Args[0], "-test.run=^TestClockInTimeNamespace$", "-test.v")
	cmd.Env = append(os.Environ(), ask+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("no time namespace to be had (needs unshare and CAP_SYS_ADMIN): %v: %s", err, out)
	}
	after := here.Now()
	var now, namespace int64
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "now=") {
			fmt.Sscanf(line, "now=%d namespace=%d", &now, &namespace)
		}
	}
	if time.Duration(namespace) != 24*time.Hour {
		t.Errorf("namespace %v, want 24h; output: %s", time.Duration(namespace), out)
	}
	if slack := Instant(here.Error() + time.Millisecond); Instant(now) < before-slack || Instant(now) > after+slack {
		t.Errorf("the other process said %d, not between %d and %d", now, before, after)
	}
}
