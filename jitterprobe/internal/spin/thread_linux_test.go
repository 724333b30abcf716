//go:build (amd64 || arm64) && !noasm

package spin

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMemoryStaysUnderAThread gives up on a thread that does not end: its memory is
// still mapped. That of one that has ended is not.
func TestMemoryStaysUnderAThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, ends := range []bool{false, true} {
		mem, err := unix.Mmap(-1, 0, recordsAt+2*int(unsafe.Sizeof(Record{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		control := (*Control)(unsafe.Pointer(&mem[0]))
		records := unsafe.Slice((*Record)(unsafe.Pointer(&mem[recordsAt])), 2)
		thread := &Thread{Ring: NewRing(control, records), mem: mem, tid: 1<<22 + 1} // nobody
		if !ends {
			thread.tid, control.Tid = unix.Gettid(), 1
		}
		why := errors.New("no such CPU")
		if err := thread.giveUp(why, time.Millisecond); !errors.Is(err, why) {
			t.Errorf("ends %v: got error %v, want %v", ends, err, why)
		}
		if err := unix.Munmap(mem); (err == nil) == ends {
			t.Errorf("ends %v: unmap once more: %v", ends, err)
		}
	}
}
