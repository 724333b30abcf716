package gotrace

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
