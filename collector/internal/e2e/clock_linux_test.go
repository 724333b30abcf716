package e2e

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// monotonic reads CLOCK_MONOTONIC in ns, apart from the code under test.
func monotonic(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

// bootID is the name of this boot's epoch.
func bootID(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
