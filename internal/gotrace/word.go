package gotrace

import (
	"encoding/binary"
	"math/bits"
)

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
