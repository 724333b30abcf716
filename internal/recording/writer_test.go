package recording

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// fullDisk takes a number of writes.
type fullDisk struct{ left int }

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}
func (d *fullDisk) Sync() error  { return nil }
func (d *fullDisk) Close() error { return nil }

func TestFullDisk(t *testing.T) {
	w := newWriter(&fullDisk{left: 1}, Environment{})
	w.Gap(1, jitterprobe.Gap{Interval: stall.Interval{Start: 1, End: 2}})
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("close on a full disk: %v", err)
	}
	w.Gap(1, jitterprobe.Gap{Interval: stall.Interval{Start: 3, End: 4}})
	w.Add(End{})
	if w.Dropped() != 3 {
		t.Errorf("%d dropped on a full disk, want 3", w.Dropped())
	}
}

// TestNoBeginning: what could not be begun leaves no file that is in the way of the
// next attempt.
func TestNoBeginning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.rec")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := begun(newWriter(&fullDisk{}, Environment{}), path); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there still: %v", err)
	}
}

// TestAddedTooLate: what nobody writes any more is not kept, and counted.
func TestAddedTooLate(t *testing.T) {
	w := newWriter(&fullDisk{left: 9}, Environment{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Gap(1, jitterprobe.Gap{Interval: stall.Interval{Start: 1, End: 2}})
	w.Add(End{})
	if w.Dropped() != 2 || len(w.gaps)+len(w.pending) > 0 {
		t.Errorf("%d dropped, %d kept, want 2 and none", w.Dropped(), len(w.gaps)+len(w.pending))
	}
}

// tornDisk is full in the middle of its first write, in which another gap comes,
// and has room again after it.
type tornDisk struct {
	w       *Writer
	written []byte
}

func (d *tornDisk) Write(p []byte) (int, error) {
	if len(d.written) > 0 {
		d.written = append(d.written, p...)
		return len(p), nil
	}
	d.w.Gap(1, jitterprobe.Gap{Interval: stall.Interval{Start: 3, End: 4}})
	d.written = append(d.written, p[:2]...)
	return 2, errFull
}
func (d *tornDisk) Sync() error  { return nil }
func (d *tornDisk) Close() error { return nil }

// TestNothingAfterAnError: what followed half a frame could not be read.
func TestNothingAfterAnError(t *testing.T) {
	d := &tornDisk{}
	w := &Writer{to: d}
	d.w = w
	w.Gap(1, jitterprobe.Gap{Interval: stall.Interval{Start: 1, End: 2}})
	w.flush()
	w.flush()
	if len(d.written) != 2 {
		t.Errorf("%d bytes are in the file, want the 2 before the error", len(d.written))
	}
	if !errors.Is(w.Err(), errFull) || w.Dropped() != 2 {
		t.Errorf("error %v and %d dropped, want %v and 2", w.Err(), w.Dropped(), errFull)
	}
}

// heldDisk takes writes when it may.
type heldDisk struct {
	hold    atomic.Bool
	held    chan struct{}
	writing chan struct{}
}

func (d *heldDisk) Write(p []byte) (int, error) {
	d.writing <- struct{}{}
	if d.hold.Load() {
		<-d.held
	}
	return len(p), nil
}
func (d *heldDisk) Sync() error  { return nil }
func (d *heldDisk) Close() error { return nil }

// TestWhatWaitsIsBounded holds the disk up.
func TestWhatWaitsIsBounded(t *testing.T) {
	d := &heldDisk{held: make(chan struct{}), writing: make(chan struct{}, 8)}
	w := newWriter(d, Environment{})
	d.hold.Store(true)
	w.Gap(1, jitterprobe.Gap{Interval: stall.Interval{Start: 1, End: 2}})
	<-d.writing // newWriter's own
	<-d.writing
	const over = 100
	for i := range MaxPending + over {
		w.Gap(1, jitterprobe.Gap{Interval: stall.Interval{Start: stall.Instant(i), End: stall.Instant(i)}})
	}
	if got := w.Dropped(); got != over {
		t.Errorf("%d gaps dropped, want %d", got, over)
	}
	// One target that tells without end leaves room for the others.
	long := strings.Repeat("x", 1<<10)
	fill := func(target int) (kept int) {
		for ; w.Dropped() == over+uint64(target-1); kept += len(long) {
			w.Add(Suspension{Target: target, Reason: long})
		}
		return kept
	}
	for target := 1; target <= 4; target++ {
		if kept := fill(target); kept < maxBytesOfTarget*3/4 || kept > maxBytesOfTarget {
			t.Errorf("target %d: %d bytes are kept, want nearly %d", target, kept, maxBytesOfTarget)
		}
	}
	for range maxPendingBytes >> 10 {
		w.Add(Suspension{Reason: long}) // of no target
	}
	if len(w.pending) > maxPendingBytes+maxPendingBytes/8 {
		t.Errorf("%d bytes wait, want at most about %d", len(w.pending), maxPendingBytes)
	}
	close(d.held)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
