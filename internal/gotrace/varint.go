package gotrace

import (
	"encoding/binary"
	"math/bits"
)

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
