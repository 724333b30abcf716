package stall

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

func rawMonotonic(t *testing.T) Instant {
	t.Helper()
	var ts syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		t.Fatal(e)
	}
	return Instant(ts.Nano())
}

func TestClockIsMonotonicOfTheKernel(t *testing.T) {
	c := newTestClock(t)
	if !c.Shared() {
		t.Error("Shared: got false on Linux")
	}
	if c.Error() <= 0 {
		t.Errorf("Error: got %v, want a bound above zero", c.Error())
	}
	ns, err := timeNamespaceOffset("/proc/self/timens_offsets")
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		before := rawMonotonic(t).Add(-ns - c.Error())
		now := c.Now()
		after := rawMonotonic(t).Add(-ns + c.Error())
		if now < before || now > after {
			t.Fatalf("Now: got %d, want %d to %d", now, before, after)
		}
	}
}

func TestTimeNamespaceOffset(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       time.Duration
		err        string // part of the error, empty for none
	}{
		{"initial namespace", "monotonic           0         0\nboottime            0         0\n", 0, ""},
		{"ahead", "monotonic      864000         5\nboottime       1 2\n", 864000*time.Second + 5, ""},
		// The kernel normalizes -0.5 s to -1 s and 500000000 ns.
		{"behind", "monotonic          -1 500000000\n", -500 * time.Millisecond, ""},
		{"first releases", "1 3 4\n7 5 6\n", 3*time.Second + 4, ""},
		{"other order", "boottime 1 2\nmonotonic 3 4", 3*time.Second + 4, ""},
		{"greatest", "monotonic 9223372035 999999999\n", 9223372035999999999, ""},
		{"empty", "", 0, "no line for the monotonic clock"},
		{"no monotonic", "boottime 1 2\n", 0, "no line for the monotonic clock"},
		{"a field too few", "monotonic 1\n", 0, "no line for the monotonic clock"},
		{"a field too many", "monotonic 1 2 3\n", 0, "no line for the monotonic clock"},
		{"no number", "monotonic one 2\n", 0, `line "monotonic one 2"`},
		{"too many seconds", "monotonic 9223372036 0\n", 0, "line"},
		{"too few seconds", "monotonic -9223372036 0\n", 0, "line"},
		{"beyond int64", "monotonic 92233720360000000000 0\n", 0, "line"},
		{"negative nanoseconds", "monotonic 1 -1\n", 0, "line"},
		{"a second of nanoseconds", "monotonic 1 1000000000\n", 0, "line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "timens_offsets")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := timeNamespaceOffset(path)
			switch {
			case c.err == "" && err != nil:
				t.Errorf("error: got %v, want none", err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("error: got %v, want one with %q", err, c.err)
			case got != c.want:
				t.Errorf("offset: got %d, want %d", got, c.want)
			}
		})
	}
	t.Run("a kernel without time namespaces", func(t *testing.T) {
		got, err := timeNamespaceOffset(filepath.Join(t.TempDir(), "absent"))
		if got != 0 || err != nil {
			t.Errorf("got %v, %v, want 0 and no error", got, err)
		}
	})
	t.Run("a file that cannot be read", func(t *testing.T) {
		if _, err := timeNamespaceOffset(t.TempDir()); err == nil {
			t.Error("got no error")
		}
	})
}
