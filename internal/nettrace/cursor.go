package nettrace

import "encoding/binary"

// cursor reads little-endian values off a slice. Past the end it yields zeros
// and is bad from then on.
type cursor struct {
	b   []byte
	i   int
	bad bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b)-c.i {
		c.bad, c.i = true, len(c.b)
		return nil
	}
	c.i += n
	return c.b[c.i-n : c.i]
}

func (c *cursor) more() bool { return !c.bad && c.i < len(c.b) }

func (c *cursor) u8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uvarint reads a varuint64.
func (c *cursor) uvarint() uint64 {
	if c.i < len(c.b) && c.b[c.i] < 0x80 {
		c.i++
		return uint64(c.b[c.i-1])
	}
	v, n := binary.Uvarint(c.b[c.i:])
	if n <= 0 {
		c.bad, c.i = true, len(c.b)
		return 0
	}
	c.i += n
	return v
}

// uvarint32 reads a varuint32.
func (c *cursor) uvarint32() uint32 {
	v := c.uvarint()
	if v > 1<<32-1 {
		c.bad = true
		return 0
	}
	return uint32(v)
}

// text reads a string of format 6: its length in bytes, then UTF-8.
func (c *cursor) text() []byte {
	n := c.uvarint32()
	if uint64(n) > uint64(len(c.b)) {
		c.bad = true
		return nil
	}
	return c.take(int(n))
}

// wide reads a string of formats 4 and 5, UTF-16 with a zero at its end, and
// returns it without that.
func (c *cursor) wide() []byte {
	rest := c.b[c.i:]
	for n := 0; n+1 < len(rest); n += 2 {
		if rest[n] == 0 && rest[n+1] == 0 {
			c.i += n + 2
			return rest[:n]
		}
	}
	c.bad, c.i = true, len(c.b)
	return nil
}

// sub returns a cursor over the next n bytes, which c steps over.
func (c *cursor) sub(n int) cursor { return cursor{b: c.take(n), bad: c.bad} }
