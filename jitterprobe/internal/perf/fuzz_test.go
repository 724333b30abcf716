package perf

import (
	"encoding/binary"
	"testing"
)

// FuzzRead: whatever a ring holds, reading ends, takes everything, and what it
// yields lies within the ring.
func FuzzRead(f *testing.F) {
	f.Add(preempted(7, 100), uint16(0))
	f.Add(append(preempted(7, 100), sample(3, 9, []byte{1, 2, 3, 4})...), uint16(4056))
	f.Add([]byte{9, 0, 0, 0, 0, 0, 8, 0}, uint16(8))
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		a := newArea(4096, uint64(at)&^7)
		if len(b) > len(a.data) {
			b = b[:len(a.data)]
		}
		a.write(b)
		n := 0
		a.Read(func(r *Record) {
			if n++; len(r.Raw) > len(a.data) || r.Kind > Loss {
				t.Errorf("record %+v", r)
			}
		})
		if *a.tail != *a.head || n > len(b)/headerSize {
			t.Errorf("%d bytes: %d records, read to %d of %d", len(b), n, *a.tail, *a.head)
		}
	})
}

// newArea returns an empty ring in which so many bytes went by.
func newArea(size int, gone uint64) *area {
	head, tail := gone, gone
	return &area{head: &head, tail: &tail, data: make([]byte, size)}
}

func (a *area) write(b []byte) {
	for _, c := range b {
		a.data[*a.head&uint64(len(a.data)-1)] = c
		*a.head++
	}
}

func record(kind uint32, misc uint16, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint16(b, misc)
	b = binary.LittleEndian.AppendUint16(b, uint16(headerSize+len(body)))
	return append(b, body...)
}

// trailer is the sample_id of a record.
func trailer(tid int32, at uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(le.AppendUint32(nil, 1), uint32(tid))
	b = le.AppendUint64(b, at)
	b = le.AppendUint64(b, 5) // CPU
	return le.AppendUint64(b, 77)
}

// preempted is a switch away from tid.
func preempted(tid int32, at uint64) []byte {
	return record(typeSwitch, miscSwitchOut|miscSwitchOutPreempt, trailer(tid, at))
}

func sample(event, at uint64, raw []byte) []byte {
	le := binary.LittleEndian
	body := le.AppendUint64(nil, event)
	body = le.AppendUint32(le.AppendUint32(body, 1), 7)
	body = le.AppendUint64(le.AppendUint64(body, at), 5)
	if raw != nil {
		body = append(le.AppendUint32(body, uint32(len(raw))), raw...)
		body = append(body, make([]byte, (8-len(body)%8)%8)...)
	}
	return record(typeSample, 0, body)
}
