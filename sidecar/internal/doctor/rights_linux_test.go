package doctor

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRootWithoutCapabilities: root that has no capabilities may follow its own
// threads where every other user may. What is asked of the kernel for that does not
// depend on who asks.
func TestRootWithoutCapabilities(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	if level, err := (&machine{root: root{os.DirFS("/")}}).number("proc/sys/kernel/perf_event_paranoid"); err != nil || level > 2 {
		t.Skipf("perf_event_paranoid %d, %v: nobody may", level, err)
	}
	if err := followSwitches(0, -1); err != nil {
		t.Skipf("not even with its capabilities: %v", err)
	}
	runtime.LockOSThread() // capabilities are the thread's
	defer runtime.UnlockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var had [2]unix.CapUserData
	if err := unix.Capget(&header, &had[0]); err != nil {
		t.Fatal(err)
	}
	without := had
	without[0].Effective, without[1].Effective = 0, 0
	if err := unix.Capset(&header, &without[0]); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Capset(&header, &had[0]); err != nil {
			t.Fatal(err)
		}
	}()
	if err := followSwitches(0, -1); err != nil {
		t.Errorf("follow its own thread: %v", err)
	}
}
