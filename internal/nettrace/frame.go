package nettrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// blockKind is the kind of a block, by the numbers of format 6.
type blockKind uint8

const (
	kindEnd blockKind = iota
	kindTrace
	kindEvent
	kindMetadata
	kindSequencePoint
	kindStack
	kindThread
	kindRemoveThread
	kindLabelList
	kindUnknown blockKind = 0xff
)

// kindOfName are the objects of formats 4 and 5.
var kindOfName = map[string]blockKind{
	"Trace": kindTrace, "EventBlock": kindEvent, "MetadataBlock": kindMetadata,
	"SPBlock": kindSequencePoint, "StackBlock": kindStack,
}

// frame is one block and what is around it.
type frame struct {
	kind  blockKind
	start int // of the body, from the start of the frame
	size  int // of the body
	end   int // of the frame
}

var (
	magic             = []byte("Nettrace")
	fastSerialization = []byte("!FastSerialization.1")
)

// readMagic reads up to the first block, and returns 6 or, for 4 and 5, 4.
func readMagic(s *source) (int, error) {
	for n := 1; n <= len(magic); n++ {
		b, err := s.peek(n)
		if err != nil {
			return 0, err
		}
		if b[n-1] != magic[n-1] {
			return 0, broken("not a nettrace stream: it does not begin with %q", magic)
		}
	}
	b, err := s.peek(len(magic) + 4)
	if err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(b[len(magic):])
	if n == uint32(len(fastSerialization)) {
		b, err := s.peek(len(magic) + 4 + len(fastSerialization))
		if err != nil {
			return 0, err
		}
		if !bytes.HasSuffix(b, fastSerialization) {
			return 0, broken("serialization %q, want %q", b[len(magic)+4:], fastSerialization)
		}
		s.skip(len(b))
		return 4, nil
	}
	if n != 0 {
		return 0, broken("%d after the magic, want 0 or %d", n, len(fastSerialization))
	}
	if b, err = s.peek(len(magic) + 12); err != nil {
		return 0, err
	}
	if major := binary.LittleEndian.Uint32(b[len(magic)+4:]); major != 6 {
		return 0, unsupported(int64(major))
	}
	s.skip(len(b))
	return 6, nil
}

// readFrame reads the head of the next block, and nothing of its body.
func (r *Reader) readFrame() (frame, error) {
	var f frame
	var err error
	if r.header.Version == 6 {
		f, err = readFrame6(&r.src)
	} else {
		f, err = readFrame4(&r.src)
	}
	if err == nil && f.size > r.limits.BlockBytes {
		err = overLimit("block bytes", uint64(f.size), uint64(r.limits.BlockBytes))
	}
	return f, err
}

// readFrame6: u24 size, u8 kind, body.
func readFrame6(s *source) (frame, error) {
	b, err := s.peek(4)
	if err != nil {
		return frame{}, err
	}
	x := binary.LittleEndian.Uint32(b)
	f := frame{kind: blockKind(x >> 24), start: 4, size: int(x & 0xffffff)}
	if f.kind > kindLabelList {
		f.kind = kindUnknown
	}
	f.end = f.start + f.size
	return f, nil
}

// The tags of formats 4 and 5.
const (
	tagNull  = 1
	tagBegin = 5
	tagEnd   = 6
)

// readFrame4 reads: begin, begin, null, i32 version, i32 least version of a
// reader, i32 length of name, name, end, body, end. All bodies but that of the
// trace begin with i32 size and zeros up to a multiple of 4 in the stream.
func readFrame4(s *source) (frame, error) {
	b, err := s.peek(1)
	if err != nil {
		return frame{}, err
	}
	if b[0] == tagNull {
		return frame{kind: kindEnd, start: 1, end: 1}, nil
	}
	if b, err = s.peek(15); err != nil {
		return frame{}, err
	}
	if b[0] != tagBegin || b[1] != tagBegin || b[2] != tagNull {
		return frame{}, broken("tags %d %d %d where a block must begin", b[0], b[1], b[2])
	}
	least, n := binary.LittleEndian.Uint32(b[7:]), binary.LittleEndian.Uint32(b[11:])
	if n > MaxTypeName {
		return frame{}, overLimit("type name bytes", uint64(n), MaxTypeName)
	}
	at := 15 + int(n) + 1
	if b, err = s.peek(at); err != nil {
		return frame{}, err
	}
	if b[at-1] != tagEnd {
		return frame{}, broken("tag %d at the end of a type, want %d", b[at-1], tagEnd)
	}
	kind, known := kindOfName[string(b[15:at-1])]
	if !known {
		kind = kindUnknown
	}
	if kind == kindTrace {
		if least > 5 {
			return frame{}, unsupported(int64(least))
		}
		return frame{kindTrace, at, traceBytes, at + traceBytes + 1}, nil
	}
	if known && least > 2 {
		return frame{}, broken("block %s of version %d, want 2", b[15:at-1], least)
	}
	if b, err = s.peek(at + 4); err != nil {
		return frame{}, err
	}
	size := int32(binary.LittleEndian.Uint32(b[at:]))
	if size < 0 {
		return frame{}, broken("block of %d bytes", size)
	}
	at += 4
	at += int(-(s.offset + int64(at)) & 3)
	return frame{kind, at, int(size), at + int(size) + 1}, nil
}

const (
	firstBufferBytes = 64 << 10
	// maxEmptyReads is how often a reader may return nothing and no error.
	maxEmptyReads = 100
)

// source is a buffered reader that hands out its buffer, without copying. The
// buffer grows with what has arrived, not with what a header promises.
type source struct {
	r      io.Reader
	buf    []byte
	lo, hi int   // unread bytes are buf[lo:hi]
	offset int64 // of buf[lo] in the stream
	err    error // of r, once it ended; never a timeout
}

// peek returns the next n bytes. At the end of the stream the error is
// io.ErrUnexpectedEOF if less than n bytes are left.
func (s *source) peek(n int) ([]byte, error) {
	for s.hi-s.lo < n {
		if s.err == io.EOF {
			return nil, io.ErrUnexpectedEOF
		}
		if s.err != nil {
			return nil, s.err
		}
		s.makeRoom(n)
		if err := s.readOnce(); err != nil {
			return nil, err
		}
	}
	return s.buf[s.lo : s.lo+n], nil
}

// rest returns what is unread.
func (s *source) rest() []byte { return s.buf[s.lo:s.hi] }

func (s *source) skip(n int) {
	s.lo += n
	s.offset += int64(n)
}

func (s *source) makeRoom(n int) {
	if s.lo > 0 && len(s.buf)-s.lo < n || s.lo == s.hi {
		s.hi = copy(s.buf, s.buf[s.lo:s.hi])
		s.lo = 0
	}
	if s.hi == len(s.buf) {
		// Twice as much, but not much more than is asked for.
		size := max(firstBufferBytes, min(2*len(s.buf), n+firstBufferBytes))
		s.buf = append(make([]byte, 0, size), s.buf...)[:size]
	}
}

// free gives back the memory of a large block that is done.
func (s *source) free() {
	if s.lo == s.hi && len(s.buf) > firstBufferBytes {
		s.buf, s.lo, s.hi = nil, 0, 0
	}
}

// readOnce reads something. A timeout is returned and may be over next time.
func (s *source) readOnce() error {
	for range maxEmptyReads {
		n, err := s.r.Read(s.buf[s.hi:])
		if n < 0 || n > len(s.buf)-s.hi {
			s.err = io.ErrNoProgress // a reader that breaks its contract
			return nil
		}
		s.hi += n
		if isTimeout(err) {
			if n > 0 {
				return nil
			}
			return err
		}
		s.err = err
		if n > 0 || err != nil {
			return nil
		}
	}
	s.err = io.ErrNoProgress
	return nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return err != nil && errors.As(err, &t) && t.Timeout()
}

// block is the event or metadata block that is being decoded, piece by piece.
type block struct {
	open     bool
	cut      bool // the stream ends within it: what is whole is decoded
	frame    frame
	cursor         // over the body
	plain    bool  // its event headers are not compressed
	metadata bool  // its events define types (formats 4 and 5)
	head     head  // of the last event
	sorted   Ticks // the last tick before which nothing can follow
}

// eventsAtOnce is how many events are decoded before any is handed out.
const eventsAtOnce = 64

// enter begins a block. One that holds no events is done at once.
func (r *Reader) enter(f frame, body []byte) error {
	r.block = block{open: true, frame: f, cursor: cursor{b: body}}
	var err error
	switch f.kind {
	case kindEnd:
		r.src.skip(f.end)
		r.block.open = false
		return io.EOF
	case kindTrace:
		err = broken("second trace")
	case kindEvent:
		return r.block.readHead()
	case kindMetadata:
		if r.header.Version != 6 {
			r.block.metadata = true
			return r.block.readHead()
		}
		err = r.defineTypes(&r.block.cursor)
	case kindSequencePoint:
		err = r.sequencePoint(&r.block.cursor)
	case kindThread:
		err = r.defineThreads(&r.block.cursor)
	case kindRemoveThread:
		err = r.removeThreads(&r.block.cursor)
	}
	if err != nil {
		return err
	}
	return r.leave(f)
}

// leave steps over a block that is done.
func (r *Reader) leave(f frame) error {
	r.block = block{} // it must not keep the buffer
	if r.header.Version != 6 {
		if b := r.src.rest(); b[f.end-1] != tagEnd {
			return &Error{r.src.offset + int64(f.end-1), broken("tag %d at the end of a block, want %d", b[f.end-1], tagEnd)}
		}
	}
	r.src.skip(f.end)
	return nil
}

// readHead reads: u16 length of all this, u16 flags, u64 least and u64 largest
// tick, and what later versions may add.
func (b *block) readHead() error {
	n := int(b.u16())
	b.plain = b.u16()&1 == 0
	if b.bad || n < 4 || n > len(b.b) {
		return broken("block header of %d bytes in a block of %d", n, len(b.b))
	}
	b.i = n
	return nil
}

// decodeSome decodes some events of the open block, and leaves it at its end.
func (r *Reader) decodeSome() error {
	b := &r.block
	for range eventsAtOnce {
		if b.i >= len(b.b) {
			r.held.release(b.sorted)
			if b.cut {
				return io.ErrUnexpectedEOF
			}
			return r.leave(b.frame)
		}
		at := b.i
		if err := b.next(r.header.Version); err != nil {
			b.i = at
			if b.cut {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if err := r.take(&b.head); err != nil {
			b.i = at
			return err
		}
	}
	return nil
}

// take hands one event of a block to the part that it is for.
func (r *Reader) take(h *head) error {
	r.steps++
	if r.block.metadata {
		return r.defineType(h.payload)
	}
	if h.typ == 0 && r.header.Version != 6 {
		return broken("event without metadata")
	}
	r.stats.Events++
	r.sequence(h)
	t := r.types.get(h.typ)
	if t == nil {
		r.stats.Events--
		r.stats.Untyped++
		r.missing(h.capture, 1, h.ticks, h.ticks)
	} else if t.wanted {
		pid, thread := r.threads.resolve(h.thread)
		r.held.pushEvent(item{ticks: h.ticks, typ: t, thread: thread, pid: pid}, h.payload)
	}
	if h.sorted {
		r.block.sorted = max(r.block.sorted, h.ticks)
	}
	return nil
}

// head is an event's header, and its payload. The next header of the block is written
// relative to it.
type head struct {
	typ     uint32 // the id of its type: MetadataId
	seq     uint32
	capture uint64 // thread that recorded it: CaptureThreadId, in format 6 an index
	thread  uint64 // that it is about: ThreadId, in format 6 an index
	ticks   Ticks
	size    uint32
	sorted  bool
	payload []byte
}

// The flags of a compressed header.
const (
	flagType     = 1 << iota // MetadataId
	flagCapture              // sequence number, capture thread and processor
	flagThread               // thread
	flagStack                // stack
	flagActivity             // activity id; in format 6 label list
	flagRelated              // related activity id; not in format 6
	flagSorted
	flagSize // of the payload
)

// next reads one event.
func (b *block) next(version int) error {
	if b.plain {
		return b.nextPlain(version)
	}
	h := &b.head
	flags := b.u8()
	if flags&flagType != 0 {
		h.typ = b.uvarint32()
	}
	if flags&flagCapture != 0 {
		h.seq += b.uvarint32()
		h.capture = b.uvarint()
		b.uvarint32() // the processor
	}
	if h.typ != 0 || version == 6 {
		h.seq++
	}
	if flags&flagThread != 0 {
		h.thread = b.uvarint()
	}
	if flags&flagStack != 0 {
		b.uvarint32()
	}
	h.ticks += Ticks(b.uvarint())
	if version == 6 {
		if flags&flagActivity != 0 {
			b.uvarint32()
		}
	} else {
		if flags&flagActivity != 0 {
			b.take(16)
		}
		if flags&flagRelated != 0 {
			b.take(16)
		}
	}
	h.sorted = flags&flagSorted != 0
	if flags&flagSize != 0 {
		h.size = b.uvarint32()
	}
	return b.payload()
}

// nextPlain reads: u32 size of the rest, u32 type with the sorted flag on top,
// u32 sequence number, u64 thread, u64 capture thread, u32 processor, u32
// stack, u64 ticks, two ids of 16 bytes (in format 6 u32 label list), u32 size
// of the payload, payload; in formats 4 and 5 zeros up to a multiple of 4.
func (b *block) nextPlain(version int) error {
	h := &b.head
	size := b.u32()
	at := b.i
	typ := b.u32()
	h.typ, h.sorted = typ&(1<<31-1), typ>>31 != 0
	h.seq = b.u32()
	h.thread, h.capture = b.u64(), b.u64()
	b.take(8)
	h.ticks = Ticks(b.u64())
	if version == 6 {
		b.take(4)
	} else {
		b.take(32)
	}
	h.size = b.u32()
	if err := b.payload(); err != nil {
		return err
	}
	if uint64(b.i-at) > uint64(size) {
		return broken("event of %d bytes holds %d", size, b.i-at)
	}
	b.take(int(min(uint64(size), 1<<31-1)) - (b.i - at))
	if version != 6 {
		b.i = min(len(b.b), b.i+(-b.i&3)) // the body begins at a multiple of 4
	}
	if b.bad {
		return broken("event of %d bytes runs past its block", size)
	}
	return nil
}

func (b *block) payload() error {
	if b.bad || uint64(b.head.size) > uint64(len(b.b)-b.i) {
		return broken("event with a payload of %d bytes runs past its block", b.head.size)
	}
	b.head.payload = b.take(int(b.head.size))
	return nil
}
