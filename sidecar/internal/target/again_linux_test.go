package target

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
)

// TestOlderOfTheSameCommandLine: when a process that was named by its number
// ends, one that ran beside it is not it, started again.
func TestOlderOfTheSameCommandLine(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		t.Fatal(err)
	}
	const tick = 10_000_000
	now := uint64(boot.Nano()) / tick
	root := t.TempDir()
	made := func(pid int, ticks uint64) dotnetipc.Identity {
		fakeProcess(t, root, pid, "shop", "shop\x00serve\x00")
		stat := fmt.Sprintf("%d (shop) S %s%d\n", pid, strings.Repeat("0 ", 18), ticks)
		if err := os.WriteFile(filepath.Join(root, fmt.Sprint(pid), "stat"), []byte(stat), 0o600); err != nil {
			t.Fatal(err)
		}
		return dotnetipc.Identity{PID: pid, Created: ticks}
	}
	named, beside, again := made(1, 1), made(2, now/2), made(3, now+1000)
	w := &Watcher{
		o:     Options{Selector: Selector{pid: 1}, Proc: dotnetipc.Proc{Root: root}, Clock: clock},
		known: map[dotnetipc.Identity]*process{named: nil},
	}
	w.name(t.Context(), named)
	w.lookAtNamed(t.Context())
	last := w.lived
	if last <= proc.MadeAt(clock, now/2) {
		t.Fatalf("seen alive at %d, want now", last)
	}
	if !w.namedLives() {
		t.Error("all processes are looked at while the one that was named lives")
	}
	// It ends, and its parent has not asked.
	fakeProcess(t, root, 1, "shop", "")
	w.lookAtNamed(t.Context())
	if w.lived != last {
		t.Error("a process that only waits for its parent is taken for alive")
	}
	delete(w.known, named)
	if w.namedLives() {
		t.Error("nobody looks for the process that was named, started again")
	}
	if w.wanted(t.Context(), beside) {
		t.Error("one that ran beside the process is taken for it")
	}
	if !w.wanted(t.Context(), again) {
		t.Error("the process that was started again is not wanted")
	}
}
