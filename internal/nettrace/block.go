package nettrace

import "io"

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
