package board

import (
	"fmt"
	"io"

	"github.com/otelgc/otelgc/stall"
)

// chunk is how many records one pread takes.
const chunk = 256

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
func openTape(file io.ReaderAt, size int64, bootID string) (*tape, error) {
	t := &tape{file: file, pauses: maxPauses}
	if size < recordsAt {
		return nil, fmt.Errorf("%w: %d bytes, a board has at least %d", ErrForeign, size, recordsAt)
	}
	b := t.buf[:headerSize]
	if err := t.pread(b, 0); err != nil {
		return nil, err
	}
	h, err := decodeHeader(b)
	if err != nil {
		return nil, err
	}
	if want := recordsAt + int64(h.slots)*recordSize; size != want {
		return nil, fmt.Errorf("%w: %d bytes, %d records need %d", ErrForeign, size, h.slots, want)
	}
	if h.bootID != bootID {
		return nil, fmt.Errorf("%w: of boot %q, this is %q: start otelgc-sidecar, or remove the file", ErrStale, h.bootID, bootID)
	}
	t.header = h
	return t, nil
}

// news is what one read of a tape brought.
type news struct {
	lost    uint64
	unseen  []stall.Span
	dropped bool
}

// advance appends the records that are new to dst. On an error dst is as it
// was, and the tape too.
func (t *tape) advance(dst []stall.Interval) ([]stall.Interval, news, error) {
	t.left = t.pauses
	now, err := t.readLive()
	if err != nil {
		return dst, news{}, err
	}
	if now.head < t.next || now.watermark < t.live.watermark || now.dropped < t.live.dropped {
		return dst, news{}, fmt.Errorf("%w: record %d, watermark %d, drops %d at offset %d ran backward", ErrForeign, now.head, now.watermark, now.dropped, liveAt)
	}
	first := t.next
	if now.head > t.slots {
		first = max(first, now.head-t.slots)
	}
	var n news
	if t.read {
		n.lost = first - t.next
	} else if first > 0 {
		// What was overwritten before we came is no loss of ours, but nor can
		// we vouch for it.
		t.since = 0
	}
	mark := len(dst)
	dst, lost, err := t.records(dst, first, now.head)
	if err != nil {
		return dst[:mark], news{}, err
	}
	n.lost += lost
	if t.since == 0 {
		t.since = now.watermark
		if len(dst) > mark {
			t.since = dst[mark].End
		}
	}
	t.name(&n, now)
	t.next, t.live, t.read = now.head, now, true
	return dst, n, nil
}

// name says of which time records are missing: somewhere since the last read.
func (t *tape) name(n *news, now live) {
	n.dropped = t.read && now.dropped > t.live.dropped
	if n.lost == 0 && !n.dropped {
		return
	}
	from := t.since
	if t.read {
		from = max(from, t.live.watermark)
	}
	if s := (stall.Span{Start: from, End: now.watermark}); !s.Empty() {
		n.unseen = append(n.unseen, s)
	}
}

// records appends the records first to head-1, and counts those that are gone.
func (t *tape) records(dst []stall.Interval, first, head uint64) ([]stall.Interval, uint64, error) {
	lost := uint64(0)
	for i := first; i < head; {
		slot := i & (t.slots - 1)
		n := min(head-i, chunk, t.slots-slot)
		b := t.buf[:n*recordSize]
		at := recordsAt + int64(slot)*recordSize
		if err := t.pread(b, at); err != nil {
			return dst, 0, err
		}
		for k := range n {
			v, ok, err := t.record(b[k*recordSize:(k+1)*recordSize], i+k, at+int64(k)*recordSize)
			if err != nil {
				return dst, 0, err
			}
			if ok {
				dst = append(dst, v)
			} else {
				lost++
			}
		}
		i += n
	}
	return dst, lost, nil
}
