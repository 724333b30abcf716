package e2e

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

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

// wallOffset is the wall clock minus CLOCK_MONOTONIC in ns: of many looks the one
// in which least happened between the two.
func wallOffset(t *testing.T) (offset int64) {
	t.Helper()
	for least, n := int64(math.MaxInt64), 0; n < 1000; n++ {
		before, wall, after := monotonic(t), time.Now().UnixNano(), monotonic(t)
		if took := after - before; took < least {
			least, offset = took, wall-before-took/2
		}
	}
	return offset
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
