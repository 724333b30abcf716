package board

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

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
// place, and [ErrForeign] where something else is there or somebody else could take
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
	f, err := createFiles(path, recordsAt+int64(h.slots)*recordSize)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, mask: h.slots - 1, files: f, file: f.board, held: make([]byte, 0, maxHeld*recordSize)}
	w.live.watermark = h.since
	if err := w.publish(h); err != nil {
		return nil, errors.Join(err, f.discard())
	}
	return w, nil
}

// Path returns where the board is.
func (w *Writer) Path() string { return w.path }

// publish gives the finished file its name: no reader ever opens half a board.
func (w *Writer) publish(h header) error {
	if _, err := w.file.WriteAt(h.encode(), 0); err != nil {
		return err
	}
	if err := w.writeLive(); err != nil {
		return err
	}
	return w.files.publish()
}

// Append adds v, a stall of the machine or what [Watched] tells. Readers see it
// from the next Advance on. When the ring is full the oldest record goes. An
// error says that v was not taken; of a file that cannot be written it comes
// only when no more records can be held.
func (w *Writer) Append(v stall.Interval) error {
	if err := check(v); err != nil {
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
	w.live.head = w.next
	w.live.watermark = max(w.live.watermark, watermark)
	w.live.dropped = max(w.live.dropped, dropped)
	w.live.droppedTime = max(w.live.droppedTime, droppedTime)
	w.written = w.writeLive()
}

func (w *Writer) writeLive() error {
	_, err := w.file.WriteAt(w.live.encode(), liveAt)
	return err
}

// Close tells the readers, takes the file away and gives up the lock. Readers
// that have the file open can still read it.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	w.live.closed = true
	err := errors.Join(w.written, w.writeLive(), w.files.remove(), w.files.close())
	w.file = nil
	if err != nil {
		return fmt.Errorf("close board: %w", err)
	}
	return nil
}
