package board

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// A block that is being written is read again after a pause, longer than a write
// of 64 bytes takes. The number of pauses per read is bounded: a file of
// nothing but damaged blocks must not hold its reader.
const (
	maxPauses = 40
	tryPause  = 50 * time.Microsecond
)

// record decodes b, and reads it again while it is being written. It reports
// false if the record is gone: the writer has come round to it, or it is damaged.
func (t *tape) record(b []byte, i uint64, at int64) (stall.Interval, bool, error) {
	for {
		v, state, err := decodeRecord(b, i)
		if err != nil {
			return v, false, fmt.Errorf("%w: record at offset %d: %w", ErrForeign, at, err)
		}
		if state == recordThere {
			return v, true, nil
		}
		if state == recordOther || !t.pause() {
			return v, false, nil
		}
		if err := t.pread(b, at); err != nil {
			return v, false, err
		}
	}
}

// pause reports false when there have been enough.
func (t *tape) pause() bool {
	if t.left == 0 {
		return false
	}
	t.left--
	time.Sleep(tryPause)
	return true
}

func (t *tape) readLive() (live, error) {
	b := make([]byte, liveSize)
	for {
		if err := t.pread(b, liveAt); err != nil {
			return live{}, err
		}
		l, ok := decodeLive(b)
		if ok && (l.watermark < 0 || l.droppedTime < 0) {
			return live{}, fmt.Errorf("%w: watermark %d, dropped time %d at offset %d", ErrForeign, l.watermark, l.droppedTime, liveAt)
		}
		if ok {
			return l, nil
		}
		if !t.pause() {
			return live{}, fmt.Errorf("%w: checksum of the block at offset %d", ErrForeign, liveAt)
		}
	}
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
