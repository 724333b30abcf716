package verb

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

// TestSetTimerSlack: every thread of this process has it, and those that are made
// after.
func TestSetTimerSlack(t *testing.T) {
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	tid := strconv.Itoa(unix.Gettid())
	if err := os.WriteFile(filepath.Join("/proc", tid, "timerslack_ns"), []byte(strconv.Itoa(before)), 0); errors.Is(err, os.ErrPermission) {
		t.Skipf("needs CAP_SYS_NICE: %v", err)
	}
	t.Cleanup(func() { setTimerSlack("/proc", time.Duration(before)) })
	const want = 700 * time.Microsecond
	setTimerSlack("/proc", want)
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range threads {
		text, err := os.ReadFile(filepath.Join("/proc", d.Name(), "timerslack_ns"))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if got := strings.TrimSpace(string(text)); err != nil || got != strconv.Itoa(int(want)) {
			t.Errorf("thread %s: timer slack %q (%v), want %d", d.Name(), got, err, want)
		}
	}
}
