package nettracetest

import (
	"bytes"
	"strconv"
	"time"
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

// Writer writes one stream.
type Writer struct {
	o     Options
	buf   bytes.Buffer
	taken int // bytes before buf
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
		for _, s := range []string{"ProcessId", strconv.Itoa(w.o.PID), "HardwareThreadCount", strconv.Itoa(w.o.Processors)} {
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
	for (w.taken+w.buf.Len())%4 != 0 {
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

// End writes the end of the stream.
func (w *Writer) End() {
	if w.o.Version == 6 {
		w.Block(0, nil)
	} else {
		w.buf.WriteByte(1)
	}
}

// Bytes returns what was written since the last Take.
func (w *Writer) Bytes() []byte { return bytes.Clone(w.buf.Bytes()) }

// Take returns what was written since the last Take, for a stream that has no
// end.
func (w *Writer) Take() []byte {
	b := w.Bytes()
	w.taken += len(b)
	w.buf.Reset()
	return b
}
