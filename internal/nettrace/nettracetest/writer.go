package nettracetest

import (
	"bytes"
	"encoding/binary"
	"time"
	"unicode/utf16"
)

// Options of a [Writer]. The zero value is format 4 with compressed headers, a
// 64-bit process and ticks of a nanosecond.
type Options struct {
	Version     int // 4, 5 or 6
	Plain       bool
	PointerSize int
	Frequency   int64
	SyncTicks   int64
	SyncTime    time.Time
	PID         int
	Processors  int
}

// Event is one event to write.
type Event struct {
	Provider    string
	ID, Version int
	Name        string
	Ticks       uint64
	Thread      uint64 // who records it, and whom it is about; in format 6 its index
	Sorted      bool
	Payload     []byte
}

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

type key struct {
	provider, name string
	id, version    int
}

// Writer writes one stream.
type Writer struct {
	o     Options
	buf   bytes.Buffer
	types map[key]uint32
	seq   map[uint64]uint32
}

// New writes the head of a stream.
func New(o Options) *Writer {
	if o.Version == 0 {
		o.Version = 4
	}
	if o.PointerSize == 0 {
		o.PointerSize = 8
	}
	if o.Frequency == 0 {
		o.Frequency = 1e9
	}
	w := &Writer{o: o, types: make(map[key]uint32), seq: make(map[uint64]uint32)}
	w.buf.WriteString("Nettrace")
	if o.Version == 6 {
		w.buf.Write([]byte{0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0})
		w.Block(1, w.trace())
		return w
	}
	w.buf.Write(append(le32(20), "!FastSerialization.1"...))
	w.object("Trace", o.Version, o.Version)
	w.buf.Write(w.trace())
	w.buf.WriteByte(6)
	return w
}

func (w *Writer) trace() []byte {
	t := w.o.SyncTime
	var b []byte
	for _, v := range []int{
		t.Year(), int(t.Month()), int(t.Weekday()), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond() / 1e6,
	} {
		b = append(b, byte(v), byte(v>>8))
	}
	b = append(b, le64(uint64(w.o.SyncTicks))...)
	b = append(b, le64(uint64(w.o.Frequency))...)
	b = append(b, le32(uint32(w.o.PointerSize))...)
	if w.o.Version == 6 {
		b = append(b, le32(2)...)
		for _, s := range []string{"ProcessId", decimal(w.o.PID), "HardwareThreadCount", decimal(w.o.Processors)} {
			b = append(b, text(s)...)
		}
		return b
	}
	b = append(b, le32(uint32(w.o.PID))...)
	b = append(b, le32(uint32(w.o.Processors))...)
	return append(b, le32(1000000)...)
}

func (w *Writer) object(name string, version, least int) {
	w.buf.Write([]byte{5, 5, 1})
	w.buf.Write(le32(uint32(version)))
	w.buf.Write(le32(uint32(least)))
	w.buf.Write(le32(uint32(len(name))))
	w.buf.WriteString(name)
	w.buf.WriteByte(6)
}

var names = map[byte]string{2: "EventBlock", 3: "MetadataBlock", 4: "SPBlock", 5: "StackBlock", 99: "NewBlock"}

// Block writes a block of a kind, by the numbers of format 6; 99 is one that
// nobody knows.
func (w *Writer) Block(kind byte, body []byte) {
	if w.o.Version == 6 {
		w.buf.Write([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), kind})
		w.buf.Write(body)
		return
	}
	w.object(names[kind], 2, 2)
	w.buf.Write(le32(uint32(len(body))))
	for w.buf.Len()%4 != 0 {
		w.buf.WriteByte(0)
	}
	w.buf.Write(body)
	w.buf.WriteByte(6)
}

// Events writes one block of events, and before it their types.
func (w *Writer) Events(events ...Event) {
	for _, e := range events {
		w.define(e)
	}
	flags := byte(1)
	if w.o.Plain {
		flags = 0
	}
	body := append([]byte{20, 0, flags, 0}, make([]byte, 16)...)
	last := compressed{}
	for _, e := range events {
		w.seq[e.Thread]++
		next := compressed{
			typ: w.types[keyOf(e)], seq: w.seq[e.Thread], thread: e.Thread, ticks: e.Ticks, size: len(e.Payload), sorted: e.Sorted,
		}
		if w.o.Plain {
			body = w.plain(body, next, e.Payload)
		} else {
			body = append(next.after(body, last), e.Payload...)
		}
		last = next
	}
	w.Block(2, body)
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

// End writes the end of the stream.
func (w *Writer) End() {
	if w.o.Version == 6 {
		w.Block(0, nil)
	} else {
		w.buf.WriteByte(1)
	}
}

// Bytes returns what was written so far.
func (w *Writer) Bytes() []byte { return bytes.Clone(w.buf.Bytes()) }

func keyOf(e Event) key { return key{e.Provider, e.Name, e.ID, e.Version} }

// define writes the type of an event, if it is a new one.
func (w *Writer) define(e Event) {
	if w.types[keyOf(e)] != 0 {
		return
	}
	id := uint32(len(w.types) + 1)
	w.types[keyOf(e)] = id
	if w.o.Version == 6 {
		w.Block(3, append([]byte{3, 0, 0xaa, 0xbb, 0xcc}, sized(row6(id, e))...))
		return
	}
	row := append(le32(id), wide(e.Provider)...)
	row = append(append(row, le32(uint32(e.ID))...), wide(e.Name)...)
	row = append(append(row, le64(1)...), le32(uint32(e.Version))...)
	row = append(append(row, le32(4)...), le32(0)...)
	body := append([]byte{20, 0, 1, 0}, make([]byte, 16)...)
	if w.o.Plain {
		body[2] = 0
		body = w.plain(body, compressed{size: len(row)}, row)
	} else {
		body = append(compressed{size: len(row)}.after(body, compressed{}), row...)
	}
	w.Block(3, body)
}

func row6(id uint32, e Event) []byte {
	row := append(binary.AppendUvarint(nil, uint64(id)), text(e.Provider)...)
	row = append(binary.AppendUvarint(row, uint64(e.ID)), text(e.Name)...)
	row = append(row, 1, 0) // one field
	row = append(row, sized(append(text("Count"), 10))...)
	options := append([]byte{1, 7, 3}, le64(1)...)
	options = append(append(options, 4), text("a {template}")...)
	options = append(options, 8, 4, 9, byte(e.Version))
	return append(row, sized(options)...)
}

func sized(b []byte) []byte { return append([]byte{byte(len(b)), byte(len(b) >> 8)}, b...) }

func text(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }

func wide(s string) []byte {
	var b []byte
	for _, c := range append(utf16.Encode([]rune(s)), 0) {
		b = append(b, byte(c), byte(c>>8))
	}
	return b
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func decimal(n int) string {
	if n == 0 {
		return "0"
	}
	s := ""
	for ; n > 0; n /= 10 {
		s = string(rune('0'+n%10)) + s
	}
	return s
}
