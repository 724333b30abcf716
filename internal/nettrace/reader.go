package nettrace

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Options of a [Reader]. The zero value is the default.
type Options struct {
	Limits Limits
	// Want says which events are handed out; nil means all. It is asked once
	// for each type of event, and what it does not want costs nearly nothing.
	Want func(provider string, id, version int) bool
}

// Reader decodes one stream. It is not safe for concurrent use.
type Reader struct {
	src      source
	limits   Limits
	want     func(string, int, int) bool
	header   Header
	types    types
	threads  threads
	held     queue
	block    block
	released Ticks // of the last event that was handed out
	event    Event
	stats    Stats
	steps    uint64
	idle     error // the timeout that is to be returned once nothing is held
	err      error // sticky, once nothing is held
}

// NewReader reads up to the end of the stream's header.
//
// A live stream needs a reader whose Read returns after a while if nothing
// arrives, with an error whose Timeout method says so, such as a [net.Conn]
// with a read deadline. See [Reader.Next].
func NewReader(stream io.Reader, o Options) (*Reader, error) {
	r := &Reader{src: source{r: stream}, limits: o.Limits.withDefaults(), want: o.Want}
	r.types.byName = make(map[string]string)
	r.threads.forgetNumbers()
	if err := r.readHeader(); err != nil {
		return nil, r.place(err)
	}
	return r, nil
}

func (r *Reader) readHeader() error {
	version, err := readMagic(&r.src)
	if err != nil {
		return err
	}
	r.header.Version = version
	f, err := r.readFrame()
	if err != nil {
		return err
	}
	if f.kind != kindTrace {
		return broken("block of kind %d where the trace must be", f.kind)
	}
	b, err := r.src.peek(f.end)
	if err != nil {
		return err
	}
	if version != 6 {
		// The trace object's own version; readFrame has seen that a reader of
		// 5 can read it.
		version = int(min(binary.LittleEndian.Uint32(b[3:]), 5))
		if version < 4 {
			return unsupported(int64(version))
		}
	}
	if r.header, err = readTrace(b[f.start:f.start+f.size], version); err != nil {
		return err
	}
	return r.leave(f)
}

// Header returns what the stream says of itself.
func (r *Reader) Header() Header { return r.header }

// Stats returns what was counted so far.
func (r *Reader) Stats() Stats { return r.stats }

// Offset returns the number of bytes that were decoded.
func (r *Reader) Offset() int64 { return r.src.offset }

// Next returns the next event in the order of time. It blocks on the stream.
//
// At the end tag the error is io.EOF; otherwise it is an [*Error], and every
// further call repeats it. One error can be followed by more events: when the
// stream's Read times out, Next first hands out all that it held back, then
// returns the timeout as it is. Its caller then knows that nothing arrives for
// now, and goes on with Next. An event that comes after that and belongs
// before it is handed out nevertheless, and counted in Stats.Late.
//
// The Event is valid until the next call.
func (r *Reader) Next() (*Event, error) {
	for {
		if r.held.pop(&r.event) {
			r.handOut()
			return &r.event, nil
		}
		if r.idle != nil {
			err := r.idle
			r.idle = nil
			r.rest()
			return nil, err
		}
		if r.err != nil {
			return nil, r.err
		}
		if err := r.step(); err != nil {
			r.fail(err)
		}
	}
}

func (r *Reader) handOut() {
	e := &r.event
	if e.Ticks < r.released {
		r.stats.Late++
	}
	r.released = max(r.released, e.Ticks)
	if e.PID == 0 {
		e.PID = r.header.PID
	}
}

// rest gives back the memory that a burst took: nothing is held.
func (r *Reader) rest() {
	r.held.free()
	r.src.free()
}

// fail releases what is held, and keeps the error for when that is handed out.
func (r *Reader) fail(err error) {
	if isTimeout(err) {
		r.held.releaseAll()
		r.idle = err
		return
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && !r.block.cut && r.salvage() {
		return
	}
	r.held.releaseAll()
	r.err = r.place(err)
}

// place says where in the stream an error is. The end is none.
func (r *Reader) place(err error) error {
	var placed *Error
	if err == io.EOF || errors.As(err, &placed) || isTimeout(err) {
		return err
	}
	at := r.src.offset
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		at += int64(len(r.src.rest()))
	case r.block.open:
		at += int64(r.block.frame.start + r.block.i)
	}
	return &Error{Offset: at, Err: err}
}

// step decodes a piece of the open block, or opens the next one.
func (r *Reader) step() error {
	if r.held.over(&r.limits) {
		r.stats.Forced++
		r.held.releaseAll()
		return nil
	}
	if r.block.open {
		return r.decodeSome()
	}
	f, err := r.readFrame()
	if err != nil {
		return err
	}
	b, err := r.src.peek(f.end)
	if err != nil {
		return err
	}
	r.steps++
	return r.enter(f, b[f.start:f.start+f.size])
}

// salvage opens a block that the stream ends within, so that what is whole of
// it is decoded. It reports whether there is anything.
func (r *Reader) salvage() bool {
	f, err := r.readFrame()
	b := r.src.rest()
	if err != nil || f.kind != kindEvent || len(b) < f.start {
		return false
	}
	err = r.enter(f, b[f.start:min(len(b), f.start+f.size)])
	r.block.open, r.block.cut = err == nil, true
	return err == nil
}

// Header is what a stream says of itself.
type Header struct {
	Version     int // of the format: 4, 5 or 6
	PointerSize int // 4 or 8
	Frequency   Frequency
	// SyncTicks and SyncTime are the same moment, the second with a resolution
	// of a millisecond.
	SyncTicks  Ticks
	SyncTime   time.Time
	PID        int // 0 if the stream does not say
	Processors int // 0 if the stream does not say
}

// traceBytes is the length of the trace object of formats 4 and 5.
const traceBytes = 48

// readTrace reads the trace object of formats 4 and 5, or the trace block of 6.
func readTrace(body []byte, version int) (Header, error) {
	h := Header{Version: version}
	c := cursor{b: body}
	h.SyncTime = readSystemTime(&c)
	h.SyncTicks = Ticks(c.u64())
	frequency := int64(c.u64())
	pointer := int32(c.u32())
	h.Frequency, h.PointerSize = Frequency(frequency), int(pointer)
	if version < 6 {
		h.PID, h.Processors = int(int32(c.u32())), int(int32(c.u32()))
		c.u32() // the expected rate of CPU samples
	} else {
		readKeyValues(&c, &h)
	}
	switch {
	case c.bad:
		return h, broken("trace of %d bytes is too short", len(body))
	case frequency <= 0:
		return h, broken("tick frequency %d", frequency)
	case pointer != 4 && pointer != 8:
		return h, broken("pointer size %d, want 4 or 8", pointer)
	}
	return h, nil
}

// readSystemTime reads a Windows SYSTEMTIME: year, month, day of the week, day,
// hour, minute, second and millisecond.
func readSystemTime(c *cursor) time.Time {
	var v [8]int
	for i := range v {
		v[i] = int(c.u16())
	}
	return time.Date(v[0], time.Month(v[1]), v[3], v[4], v[5], v[6], v[7]*1e6, time.UTC)
}

func readKeyValues(c *cursor, h *Header) {
	n := c.u32()
	if n > MaxKeyValues {
		c.bad = true
		return
	}
	for range n {
		key, value := c.text(), c.text()
		if c.bad {
			return
		}
		number, _ := strconv.Atoi(string(value))
		switch string(key) {
		case "ProcessId":
			h.PID = number
		case "HardwareThreadCount":
			h.Processors = number
		}
	}
}

// Event is one event, or a place where events are missing.
type Event struct {
	// Provider, ID, Version and Name say what it is. The runtime's own events
	// come without a name. An event without a provider is none: see Lost.
	Provider string
	ID       int
	Version  int
	Name     string
	Ticks    Ticks
	Thread   uint64 // the operating system's id, as far as the stream tells it
	PID      int    // of the process, if the stream names it
	// Payload is valid until the next call of Next.
	Payload []byte
	// Lost is the number of events that Thread recorded between LostSince and
	// Ticks and that the stream does not hold. LostSince is zero if none of
	// the thread was seen before. All other fields but PID are not set then.
	Lost      uint64
	LostSince Ticks
}

// IsLoss reports whether e is a place where events are missing.
func (e *Event) IsLoss() bool { return e.Lost > 0 }

// Ticks is a point in time of the stream's own clock. On Linux and macOS it is
// nanoseconds of CLOCK_MONOTONIC, in the time namespace of the process
// (runtime, src/native/minipal/time.c), on Windows the performance counter.
type Ticks uint64

// Frequency is the number of ticks in a second.
type Frequency uint64

// maxInstant keeps sums of a few instants from overflowing.
const maxInstant = math.MaxInt64 / 4

// Instant converts t exactly, rounding to the nanosecond below: t x 1e9 / f.
// Values that no real stream holds are clamped.
func (f Frequency) Instant(t Ticks) stall.Instant {
	if f == 1e9 {
		return stall.Instant(min(t, maxInstant))
	}
	hi, lo := bits.Mul64(uint64(t), 1e9)
	if hi >= uint64(f) {
		return maxInstant
	}
	q, _ := bits.Div64(hi, lo, uint64(f))
	return stall.Instant(min(q, maxInstant))
}
