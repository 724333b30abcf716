package board

import (
	"bytes"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

const fuzzBoot = "11111111-2222-3333-4444-555555555555"

// image returns a board of 16 records, of which n were written.
func image(n int) []byte {
	h := header{slots: 16, bootID: fuzzBoot, since: 1, source: stall.ProbeSpin, cpus: []int{0}}
	l := live{head: uint64(n), watermark: stall.Instant(1000 * n)}
	b := make([]byte, recordsAt+16*recordSize)
	copy(b, h.encode())
	copy(b[liveAt:], l.encode())
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
		if err != nil && (len(got) != 0 || n.lost != 0 || n.unseen != nil) {
			t.Fatalf("read: %d records and %+v with error %v", len(got), n, err)
		}
		if uint64(len(got)) > tape.slots {
			t.Fatalf("read: %d records out of a ring of %d", len(got), tape.slots)
		}
		for _, v := range got {
			if err := check(v); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			return
		}
		again, n, err := tape.advance(got)
		if err != nil || len(again) != len(got) || n.lost != 0 || n.unseen != nil || n.dropped {
			t.Fatalf("read again: %d records after %d, %+v, error %v", len(again), len(got), n, err)
		}
	})
}
