package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSetTimerSlack: every thread of this process has it.
func TestSetTimerSlack(t *testing.T) {
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	const want = 700 * time.Microsecond
	t.Cleanup(func() { setTimerSlack("/proc", time.Duration(before)) })
	setTimerSlack("/proc", want)
	for _, d := range threads {
		text, err := os.ReadFile(filepath.Join("/proc", d.Name(), "timerslack_ns"))
		switch got := strings.TrimSpace(string(text)); {
		case errors.Is(err, os.ErrPermission):
			t.Skipf("needs CAP_SYS_NICE: %v", err)
		case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH): // it has ended
		case err != nil || got != strconv.Itoa(int(want)):
			t.Errorf("thread %s: timer slack %q (%v), want %d", d.Name(), got, err, want)
		}
	}
}
