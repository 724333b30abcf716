package nettrace

import (
	"bytes"
	"encoding/binary"
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
