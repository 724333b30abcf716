package nettracetest

import "encoding/binary"

// compressed is the header of an event.
type compressed struct {
	typ, seq uint32
	thread   uint64
	ticks    uint64
	size     int
	sorted   bool
}

// after appends c in compressed form, relative to the header before it. It
// leaves out what it may.
func (c compressed) after(b []byte, last compressed) []byte {
	flags := byte(0)
	var v []byte
	if c.typ != last.typ {
		flags |= 1
		v = binary.AppendUvarint(v, uint64(c.typ))
	}
	if c.typ != 0 && (c.thread != last.thread || c.seq != last.seq+1) {
		flags |= 2
		v = binary.AppendUvarint(v, uint64(c.seq-last.seq-1))
		v = binary.AppendUvarint(v, c.thread)
		v = binary.AppendUvarint(v, 3) // the processor
	}
	if c.thread != last.thread {
		flags |= 4
		v = binary.AppendUvarint(v, c.thread)
	}
	v = binary.AppendUvarint(v, c.ticks-last.ticks)
	if c.sorted {
		flags |= 64
	}
	if c.size != last.size {
		flags |= 128
		v = binary.AppendUvarint(v, uint64(c.size))
	}
	return append(append(b, flags), v...)
}

// plain appends an event with an uncompressed header.
func (w *Writer) plain(b []byte, c compressed, payload []byte) []byte {
	typ := c.typ
	if c.sorted {
		typ |= 1 << 31
	}
	e := append(le32(typ), le32(c.seq)...)
	e = append(append(e, le64(c.thread)...), le64(c.thread)...)
	e = append(append(e, le32(3)...), le32(0)...)
	e = append(e, le64(c.ticks)...)
	if w.o.Version == 6 {
		e = append(e, le32(0)...)
	} else {
		e = append(e, make([]byte, 32)...)
	}
	e = append(append(e, le32(uint32(c.size))...), payload...)
	b = append(append(b, le32(uint32(len(e)))...), e...)
	for w.o.Version != 6 && len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}
