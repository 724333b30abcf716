package board

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// WriterOptions configure a writer. Paths and Source must be set.
type WriterOptions struct {
	// Paths are where the board may be, such as [Paths]: it is made in the first
	// place where this user may make it.
	Paths []string
	// Slots is the number of records in the ring, rounded up to a power of two.
	// Zero is defaultSlots; the bounds are minSlots and maxSlots.
	Slots int
	// Clock is the clock of the intervals. The zero Clock means a new one. It
	// must be shared between processes.
	Clock stall.Clock
	// Source says what probes, CPUs which ones.
	Source stall.Origin
	CPUs   []int
	// Since is where the probe's sight begins. Zero means now.
	Since stall.Instant
}

func newHeader(o WriterOptions) (header, error) {
	if o.Source == stall.NoOrigin || o.Source >= stall.NumOrigins {
		return header{}, fmt.Errorf("source %v cannot be the source of a board", o.Source)
	}
	o.Slots = cmp.Or(o.Slots, defaultSlots)
	if o.Slots < minSlots || o.Slots > maxSlots {
		return header{}, fmt.Errorf("%d records are not within %d and %d", o.Slots, minSlots, maxSlots)
	}
	boot, err := stall.BootID()
	if err != nil {
		return header{}, err
	}
	if o.Clock == (stall.Clock{}) {
		if o.Clock, err = stall.NewClock(); err != nil {
			return header{}, err
		}
	}
	if !o.Clock.Shared() {
		return header{}, fmt.Errorf("clock: %w between processes", stall.ErrNotSupported)
	}
	now := o.Clock.Now()
	h := header{
		Magic: [len(magic)]byte([]byte(magic)), Version: version, RecordSize: recordSize,
		Slots:      1 << bits.Len(uint(o.Slots-1)),
		Generation: uint64(now),
		BootID:     [36]byte([]byte(boot)),
		PID:        int32(os.Getpid()),
		Created:    processCreated(),
		Since:      cmp.Or(o.Since, now),
		Source:     o.Source,
	}
	for _, cpu := range o.CPUs {
		if cpu < 0 || cpu >= maxCPUs {
			return header{}, fmt.Errorf("cpu %d is not within 0 and %d", cpu, maxCPUs-1)
		}
		h.CPUs[cpu/8] |= 1 << (cpu % 8)
	}
	return h, nil
}

// Writer writes the board. Its methods may be called from any goroutine.
type Writer struct {
	path string
	mask uint64

	mu      sync.Mutex
	files   *files
	file    *os.File // the board; nil when closed
	live    live
	next    uint64 // the record to write next
	written error  // of the last Advance
	held    []byte // the last records before next: they are not in the file yet
}

// maxHeld bounds the records that wait for the next Advance: 16 KiB. A system
// call for each would cost more than all else that is done for a gap.
const maxHeld = 256

// Create puts a new, empty board in the place of the old one. It is
// [ErrLocked] while another process has one there, or another user in a better
// place, and [ErrForeign] where something else is there or another user could take
// its place.
func Create(o WriterOptions) (*Writer, error) {
	if len(o.Paths) == 0 {
		return nil, errors.New("create board: no path")
	}
	h, err := newHeader(o)
	if err != nil {
		return nil, fmt.Errorf("create board: %w", err)
	}
	for _, path := range o.Paths {
		var w *Writer
		if w, err = createBoard(path, h); err == nil {
			return w, nil
		}
		err = fmt.Errorf("create board %s: %w", path, err)
		if !cannotBeHad(err) {
			break
		}
		if f, _, refused := openBoard(path); refused == nil {
			_ = f.Close() // read only
			return nil, fmt.Errorf("create board: %w: services read %s", ErrLocked, path)
		}
	}
	return nil, err
}

func createBoard(path string, h header) (*Writer, error) {
	f, err := createFiles(path, recordsAt+int64(h.Slots)*recordSize)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, mask: h.Slots - 1, files: f, file: f.board, held: make([]byte, 0, maxHeld*recordSize)}
	w.live.Watermark = h.Since
	if err := w.publish(h); err != nil {
		return nil, errors.Join(err, f.discard())
	}
	return w, nil
}

// Path returns where the board is.
func (w *Writer) Path() string { return w.path }

// publish gives the finished file its name: no reader ever opens half a board.
func (w *Writer) publish(h header) error {
	if _, err := w.file.WriteAt(block(h), 0); err != nil {
		return err
	}
	if err := w.writeLive(); err != nil {
		return err
	}
	return w.files.publish()
}

// Append adds v, a stall of the machine or a span that was [Watched]. Readers see it
// from the next Advance on. When the ring is full the oldest record goes. An
// error says that v was not taken; of a file that cannot be written it comes
// only when no more records can be held.
func (w *Writer) Append(v stall.Interval) error {
	if err := check(&v); err != nil {
		return fmt.Errorf("append to board: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return fmt.Errorf("append to board %s: %w", w.path, os.ErrClosed)
	}
	if len(w.held) == cap(w.held) {
		if err := w.flush(); err != nil {
			return fmt.Errorf("append to board: %w", err)
		}
	}
	n := len(w.held)
	w.held = w.held[:n+recordSize]
	encodeRecord(w.held[n:], w.next, v)
	w.next++
	return nil
}

// flush writes what is held. What cannot be written stays held.
func (w *Writer) flush() error {
	for len(w.held) > 0 {
		slot := (w.next - uint64(len(w.held)/recordSize)) & w.mask
		n := min(len(w.held), int(w.mask+1-slot)*recordSize)
		if _, err := w.file.WriteAt(w.held[:n], recordsAt+int64(slot)*recordSize); err != nil {
			return err
		}
		w.held = w.held[:copy(w.held, w.held[n:])]
	}
	return nil
}

// Advance shows readers all records so far and says that every stall that ended
// before watermark is among them, but for dropped ones that took droppedTime in
// all, since the start. A watermark or a count below the last one stays at the
// last. If the file cannot be written, readers see no progress until a later
// Advance mends it; else the error comes out of Close.
func (w *Writer) Advance(watermark stall.Instant, dropped uint64, droppedTime time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return
	}
	if w.written = w.flush(); w.written != nil {
		return
	}
	w.live.Head = w.next
	w.live.Watermark = max(w.live.Watermark, watermark)
	w.live.Dropped = max(w.live.Dropped, dropped)
	w.live.DroppedTime = max(w.live.DroppedTime, droppedTime)
	w.written = w.writeLive()
}

func (w *Writer) writeLive() error {
	_, err := w.file.WriteAt(block(w.live), liveAt)
	return err
}

// Close marks the board as closed, takes the file away and gives up the lock. Readers
// that have the file open can still read it.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	w.live.Closed = true
	err := errors.Join(w.written, w.writeLive(), w.files.remove(), w.files.close())
	w.file = nil
	if err != nil {
		return fmt.Errorf("close board: %w", err)
	}
	return nil
}
