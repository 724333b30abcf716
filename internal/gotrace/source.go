package gotrace

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// slop is the number of bytes that can be read past the end of any peeked
// slice: an event is at most 1 + 5 varints of 10 bytes, so that the decoder
// can read a whole event before it checks that the event was there.
const slop = 128

// bufferBytes holds a batch with its header, and the slop.
const bufferBytes = 2*MaxBatchBytes + slop

// source is a buffered reader that hands out its buffer, without copying.
type source struct {
	r      io.Reader
	buf    []byte // bufferBytes long
	lo, hi int    // unread bytes are buf[lo:hi]; hi <= len(buf)-slop
	offset int64  // of buf[lo] in the stream
	err    error  // of r, once it ended
}

func newSource() *source { return &source{buf: make([]byte, bufferBytes)} }

func (s *source) reset(r io.Reader) { *s = source{r: r, buf: s.buf} }

// peek returns the next n bytes, n at most MaxBatchBytes. At the end of the
// stream the error is io.EOF if nothing is left, io.ErrUnexpectedEOF if less
// than n bytes are.
func (s *source) peek(n int) ([]byte, error) {
	if err := s.fill(n); err != nil {
		return nil, err
	}
	return s.buf[s.lo : s.lo+n], nil
}

// sloppy returns the next n bytes followed by slop bytes of any content.
func (s *source) sloppy(n int) ([]byte, error) {
	if err := s.fill(n); err != nil {
		return nil, err
	}
	return s.buf[s.lo : s.lo+n+slop], nil
}

func (s *source) skip(n int) {
	s.lo += n
	s.offset += int64(n)
}

func (s *source) fill(n int) error {
	for s.hi-s.lo < n {
		if s.err != nil {
			if s.err == io.EOF && s.hi > s.lo {
				return io.ErrUnexpectedEOF
			}
			return s.err
		}
		if len(s.buf)-slop-s.lo < n {
			s.hi = copy(s.buf, s.buf[s.lo:s.hi])
			s.lo = 0
		}
		s.readOnce()
	}
	return nil
}

// maxEmptyReads is how often a reader may return nothing and no error.
const maxEmptyReads = 100

func (s *source) readOnce() {
	for range maxEmptyReads {
		n, err := s.r.Read(s.buf[s.hi : len(s.buf)-slop])
		if n < 0 || n > len(s.buf)-slop-s.hi {
			s.err = io.ErrNoProgress // a reader that breaks its contract
			return
		}
		s.hi += n
		s.err = err
		if n > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}

const maxVarintBytes = 10

// pastEnd is how far before the end of its slice an overlong varint sends the
// cursor: behind every event, and with room for the four arguments that may
// still be read before anyone looks.
const pastEnd = 4*maxVarintBytes + 8

// uvarint reads an unsigned LEB128 number at b[i] and returns it with the index
// behind it. b must hold slop bytes past the data: a number that is cut off
// yields an index past the data's end, and so does one that is too long, which
// is how both are noticed.
func uvarint(b []byte, i int) (uint64, int) {
	if v := b[i]; v < 0x80 {
		return uint64(v), i + 1
	}
	return uvarintLong(b, i)
}

func uvarintLong(b []byte, i int) (uint64, int) {
	c := b[i : i+maxVarintBytes]
	v := uint64(c[0]&0x7f) | uint64(c[1]&0x7f)<<7
	if c[1] < 0x80 {
		return v, i + 2
	}
	v |= uint64(c[2]&0x7f) << 14
	if c[2] < 0x80 {
		return v, i + 3
	}
	for k := 3; k < maxVarintBytes-1; k++ {
		v |= uint64(c[k]&0x7f) << (7 * k)
		if c[k] < 0x80 {
			return v, i + k + 1
		}
	}
	if c[maxVarintBytes-1] > 1 {
		return 0, len(b) - pastEnd
	}
	return v | uint64(c[maxVarintBytes-1])<<63, i + maxVarintBytes
}

// word reads the arguments of one event out of eight bytes, which hold nearly
// all events, without a branch per byte: lengths of numbers are
// what a branch predictor cannot learn.
type word uint64

// lastBytes has the bit that a number's last byte leaves clear, per byte.
const lastBytes = 0x8080808080808080

// loadWord reads the eight bytes at b[i].
func loadWord(b []byte, i int) word {
	return word(binary.LittleEndian.Uint64(b[i : i+8 : len(b)]))
}

// ends returns a set of bits, one for each byte of w that ends a number.
func (w word) ends() uint64 { return ^uint64(w) & lastBytes }

// dropFirst returns the ends but for the first.
func dropFirst(ends uint64) uint64 { return ends & (ends - 1) }

// first returns the number that ends at the first of ends.
func (w word) first(ends uint64) uint64 { return pack(uint64(w) & (ends - 1)) }

// next returns the number that begins behind the first of before and ends at
// the first of ends. Bits of w at other ends are clear, so ends-1 is a mask.
func (w word) next(before, ends uint64) uint64 {
	return pack((uint64(w) & (ends - 1)) >> (uint(bits.TrailingZeros64(before)+1) & 63))
}

// pack joins the lower seven bits of each of eight bytes.
func pack(x uint64) uint64 {
	if x>>32 != 0 {
		return packLong(x)
	}
	x = x&0x007f007f | x&0x7f007f00>>1
	return x&0x00003fff | x&0x3fff0000>>2
}

func packLong(x uint64) uint64 {
	x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
	x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
	return x&0x000000000fffffff | x&0x0fffffff00000000>>4
}
