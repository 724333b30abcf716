package nettracetest

import "encoding/binary"

// Thread is a thread of format 6.
type Thread struct {
	Index, ID uint64
	PID       int
}

// Reached is how far a thread has numbered its events.
type Reached struct {
	Thread uint64
	Seq    uint32
}

// Lose makes a thread number n events that do not get into the stream.
func (w *Writer) Lose(thread uint64, n uint32) { w.seq[thread] += n }

// Number makes seq the last number of a thread.
func (w *Writer) Number(thread uint64, seq uint32) { w.seq[thread] = seq }

// SequencePoint writes one. The flags are those of format 6.
func (w *Writer) SequencePoint(ticks uint64, flags uint32, list ...Reached) {
	b := le64(ticks)
	if w.o.Version == 6 {
		b = append(b, le32(flags)...)
	}
	b = append(b, le32(uint32(len(list)))...)
	for _, t := range list {
		if w.o.Version == 6 {
			b = binary.AppendUvarint(b, t.Thread)
			b = binary.AppendUvarint(b, uint64(t.Seq))
		} else {
			b = append(append(b, le64(t.Thread)...), le32(t.Seq)...)
		}
	}
	w.Block(4, b)
}

// Threads writes the threads of format 6.
func (w *Writer) Threads(list ...Thread) {
	var b []byte
	for _, t := range list {
		row := binary.AppendUvarint(nil, t.Index)
		row = append(append(row, 1), text("worker")...)
		row = binary.AppendUvarint(append(row, 2), uint64(t.PID))
		row = binary.AppendUvarint(append(row, 3), t.ID)
		row = append(append(append(row, 4), text("k")...), text("v")...)
		b = append(b, sized(row)...)
	}
	w.Block(6, b)
}

// RemoveThreads says which threads of format 6 are over.
func (w *Writer) RemoveThreads(list ...Reached) {
	var b []byte
	for _, t := range list {
		b = binary.AppendUvarint(b, t.Thread)
		b = binary.AppendUvarint(b, uint64(t.Seq))
		delete(w.seq, t.Thread)
	}
	w.Block(7, b)
}
