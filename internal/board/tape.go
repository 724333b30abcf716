package board

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	// chunk is how many records one pread takes.
	chunk = 256
	// A block that is being written is read again after tryPause, longer than a write of
	// 64 bytes takes. A file of nothing but damaged blocks must not hold its reader:
	// maxPauses bounds the pauses of one read.
	maxPauses = 40
	tryPause  = 50 * time.Microsecond
)

// tape reads one board file from its beginning to wherever the writer is.
type tape struct {
	file io.ReaderAt
	header
	next   uint64 // the record to read next
	live   live   // as of the last read
	read   bool   // there was a last read
	pauses int    // allowed per read
	left   int    // of this read's
	buf    [chunk * recordSize]byte
}

// openTape checks everything that can be checked without the file system.
func openTape(file io.ReaderAt, size int64, bootID string) (t *tape, err error) {
	t = &tape{file: file, pauses: maxPauses}
	if size < recordsAt {
		return nil, fmt.Errorf("%w: %d bytes, a board has at least %d", ErrForeign, size, recordsAt)
	}
	b := t.buf[:headerSize]
	if err := t.pread(b, 0); err != nil {
		return nil, err
	}
	if t.header, err = decodeHeader(b); err != nil {
		return nil, err
	}
	if want := recordsAt + int64(t.Slots)*recordSize; size != want {
		return nil, fmt.Errorf("%w: %d bytes, %d records need %d", ErrForeign, size, t.Slots, want)
	}
	if string(t.BootID[:]) != bootID {
		return nil, fmt.Errorf("%w: of boot %q, this is %q: start otelgc-sidecar, or remove the file", ErrStale, t.BootID, bootID)
	}
	return t, nil
}

// advance appends the records that are new to dst. On an error dst is as it
// was, and the tape too.
func (t *tape) advance(dst []stall.Interval) ([]stall.Interval, Status, error) {
	t.left = t.pauses
	now, err := t.readLive()
	if err != nil {
		return dst, Status{}, err
	}
	if now.Head < t.next || now.Watermark < t.live.Watermark || now.Dropped < t.live.Dropped {
		return dst, Status{}, fmt.Errorf("%w: record %d, watermark %d, drops %d at offset %d ran backward", ErrForeign, now.Head, now.Watermark, now.Dropped, liveAt)
	}
	first := t.next
	if now.Head > t.Slots {
		first = max(first, now.Head-t.Slots)
	}
	all, err := t.records(dst, first, now.Head)
	if err != nil {
		return dst, Status{}, err
	}
	lost := now.Head - first - uint64(len(all)-len(dst))
	if t.read {
		lost += first - t.next
	} else if first > 0 {
		t.Since = 0 // the records before were overwritten unread: they are unseen, and no loss
	}
	if t.Since == 0 {
		t.Since = now.Watermark
		if len(all) > len(dst) {
			t.Since = all[len(dst)].End
		}
	}
	s := Status{Since: t.Since, Watermark: now.Watermark, Lost: lost, Generation: t.Generation}
	missing := stall.Span{Start: max(t.Since, t.live.Watermark), End: now.Watermark}
	if (lost > 0 || t.read && now.Dropped > t.live.Dropped) && !missing.Empty() {
		s.Unseen = append(s.Unseen, missing)
	}
	t.next, t.live, t.read = now.Head, now, true
	return all, s, nil
}

// records appends the records first to head-1, but for those that are gone: the writer
// has come round to them, or they are damaged.
func (t *tape) records(dst []stall.Interval, first, head uint64) ([]stall.Interval, error) {
	for i := first; i < head; {
		slot := i & (t.Slots - 1)
		n := min(head-i, chunk, t.Slots-slot)
		at := recordsAt + int64(slot)*recordSize
		if err := t.pread(t.buf[:n*recordSize], at); err != nil {
			return dst, err
		}
		for k := range n {
			b, at := t.buf[k*recordSize:(k+1)*recordSize], at+int64(k)*recordSize
			if !sealed(b) {
				if whole, err := t.await(b, at); err != nil {
					return dst, err
				} else if !whole {
					continue
				}
			}
			if le.Uint64(b) != i+k+1 {
				continue
			}
			v, err := decodeRecord(b)
			if err != nil {
				return dst, fmt.Errorf("%w: record at offset %d: %w", ErrForeign, at, err)
			}
			dst = append(dst, v)
		}
		i += n
	}
	return dst, nil
}

func (t *tape) readLive() (l live, err error) {
	b := t.buf[:liveSize]
	if err := t.pread(b, liveAt); err != nil {
		return l, err
	}
	whole, err := t.await(b, liveAt)
	if err != nil {
		return l, err
	}
	_, _ = binary.Decode(b, le, &l) // b is long enough
	switch {
	case !whole:
		err = fmt.Errorf("%w: checksum of the block at offset %d", ErrForeign, liveAt)
	case l.Watermark < 0 || l.DroppedTime < 0:
		err = fmt.Errorf("%w: watermark %d, dropped time %d at offset %d", ErrForeign, l.Watermark, l.DroppedTime, liveAt)
	}
	return l, err
}

// await reads the block b again while it is being written. It reports false if there
// have been enough pauses in this read.
func (t *tape) await(b []byte, at int64) (bool, error) {
	for !sealed(b) {
		if t.left == 0 {
			return false, nil
		}
		t.left--
		time.Sleep(tryPause)
		if err := t.pread(b, at); err != nil {
			return false, err
		}
	}
	return true, nil
}

// pread fills b. A file that ends too soon was truncated under us.
func (t *tape) pread(b []byte, at int64) error {
	n, err := t.file.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at offset %d: %w", len(b), at, err)
}
