package kernel

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// record is one as the kernel writes it.
func record(kind uint32, body ...uint64) (b []byte) {
	le := binary.LittleEndian
	b = le.AppendUint32(b, kind)
	b = le.AppendUint32(b, uint32(headerSize+8*len(body))<<16)
	for _, w := range body {
		b = le.AppendUint64(b, w)
	}
	return b
}

// written is a ring of 64 bytes that the kernel has written these records to.
func written(records ...[]byte) (r *Ring, next func(...[]byte)) {
	r = &Ring{head: &unix.PerfEventMmapPage{}, data: make([]byte, 64)}
	next = func(records ...[]byte) {
		for _, b := range records {
			for _, c := range b {
				r.data[r.head.Data_head%64] = c
				r.head.Data_head++
			}
		}
	}
	next(records...)
	return r, next
}

func TestRead(t *testing.T) {
	var got []uint64
	take := func(b []byte) { got = append(got, binary.LittleEndian.Uint64(b)) }
	r, next := written(record(unix.PERF_RECORD_SAMPLE, 1, 0), record(unix.PERF_RECORD_THROTTLE, 9), record(unix.PERF_RECORD_SAMPLE, 2))
	lost := r.Read(take)
	next(record(unix.PERF_RECORD_LOST, 0, 7), record(unix.PERF_RECORD_SAMPLE, 3, 0, 0)) // goes over the end
	lost += r.Read(take)
	if want := []uint64{1, 2, 3}; !slices.Equal(got, want) || lost != 7 {
		t.Errorf("samples %v, %d lost; want %v, 7", got, lost, want)
	}
	if r.head.Data_tail != r.head.Data_head {
		t.Errorf("read to %d of %d", r.head.Data_tail, r.head.Data_head)
	}
}

func TestReadOfWhatIsNoRecord(t *testing.T) {
	for _, size := range []uint32{0, 4, 4096} {
		b := binary.LittleEndian.AppendUint32(nil, unix.PERF_RECORD_SAMPLE)
		b = binary.LittleEndian.AppendUint32(b, size<<16)
		r, _ := written(b)
		r.Read(func(b []byte) { t.Errorf("a record of %d bytes: body %v", size, b) })
	}
}
