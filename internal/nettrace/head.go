package nettrace

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
