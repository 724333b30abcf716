package load

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPrompt: short turns are asked for, and given back.
func TestPrompt(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	turn := func() uint64 {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Runtime
	}
	usual := turn()
	back := prompt()
	short := turn()
	back()
	if short == usual {
		t.Skip("skipped: the kernel does not know of turns, or the thread is of another policy")
	}
	if short != uint64(shortTurn) {
		t.Errorf("turns of %d ns, want %d", short, shortTurn)
	}
	if got := turn(); got != usual {
		t.Errorf("turns of %d ns are left, want %d as before", got, usual)
	}
}
