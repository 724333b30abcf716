package board

import (
	"bytes"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

const fuzzBoot = "11111111-2222-3333-4444-555555555555"

// image returns a board of 16 records, of which n were written.
func image(n int) []byte {
	h := header{Version: version, RecordSize: recordSize, Slots: 16, Since: 1, Source: stall.ProbeSpin}
	copy(h.Magic[:], magic)
	copy(h.BootID[:], fuzzBoot)
	h.CPUs[0] = 1
	l := live{Head: uint64(n), Watermark: stall.Instant(1000 * n)}
	b := make([]byte, recordsAt+16*recordSize)
	copy(b, block(h))
	copy(b[liveAt:], block(l))
	for i := range n {
		v := stall.Interval{
			Start: stall.Instant(1000*i + 1), End: stall.Instant(1000*i + 2),
			Cause: stall.HostUnknown, Origin: stall.ProbeSpin, Scope: stall.ScopeCPU,
		}
		encodeRecord(b[recordsAt+i%16*recordSize:][:recordSize], uint64(i), v)
	}
	return b
}

// FuzzTape holds the reader to its contract for any file: either an error, and
// then no record and no news, or records that a probe may have written, no
// more than the ring has, and each once. With reseal the checksums are made to fit.
func FuzzTape(f *testing.F) {
	for _, n := range []int{0, 1, 16, 40} {
		f.Add(image(n), true)
	}
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, data []byte, reseal bool) {
		if reseal && len(data) >= recordsAt {
			seal(data[:headerSize])
			seal(data[liveAt : liveAt+liveSize])
			for at := recordsAt; at+recordSize <= len(data); at += recordSize {
				seal(data[at : at+recordSize])
			}
		}
		tape, err := openTape(bytes.NewReader(data), int64(len(data)), fuzzBoot)
		if (tape == nil) == (err == nil) {
			t.Fatalf("open: tape %v, error %v", tape, err)
		}
		if err != nil {
			return
		}
		tape.pauses = 0 // nobody is writing
		got, n, err := tape.advance(nil)
		if err != nil && (len(got) != 0 || n.Lost != 0 || n.Unseen != nil) {
			t.Fatalf("read: %d records and %+v with error %v", len(got), n, err)
		}
		if uint64(len(got)) > tape.Slots {
			t.Fatalf("read: %d records out of a ring of %d", len(got), tape.Slots)
		}
		for _, v := range got {
			if err := check(&v); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			return
		}
		again, n, err := tape.advance(got)
		if err != nil || len(again) != len(got) || n.Lost != 0 || n.Unseen != nil {
			t.Fatalf("read again: %d records after %d, %+v, error %v", len(again), len(got), n, err)
		}
	})
}

// TestLayout: boards of one version have one layout, whichever release wrote them.
func TestLayout(t *testing.T) {
	h := header{Version: version, RecordSize: recordSize, Slots: 16, Generation: 11, PID: 7, Created: 9, Since: 77, Source: stall.ProbeSpin}
	copy(h.Magic[:], magic)
	copy(h.BootID[:], fuzzBoot)
	h.CPUs[1] = 2
	b := block(h)
	for at, want := range map[int]uint64{8: version, 12: recordSize, 16: 16, 24: 11, 68: 7, 72: 9, 80: 77, 88: uint64(stall.ProbeSpin), 96: 1 << 9} {
		if got := uint64(le.Uint16(b[at:])); got != want {
			t.Errorf("header at offset %d: got %d, want %d", at, got, want)
		}
	}
	l := block(live{Head: 3, Watermark: 4, Dropped: 5, DroppedTime: 6, Closed: true})
	for i, want := range []byte{3, 4, 5, 6, 1} {
		if got := l[8*i]; got != want {
			t.Errorf("live block at offset %d: got %d, want %d", 8*i, got, want)
		}
	}
	if len(b) != headerSize || len(l) != liveSize || string(b[32:68]) != fuzzBoot {
		t.Errorf("a header of %d bytes with boot %q, a live block of %d", len(b), b[32:68], len(l))
	}
}
