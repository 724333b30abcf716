package dotnetipc

import (
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf16"
)

// appendString appends s as the protocol has it: a u32 count of UTF-16 units
// with the final zero among them, then the units. The empty string is a count
// of zero.
func appendString(b []byte, s string) []byte {
	if s == "" {
		return binary.LittleEndian.AppendUint32(b, 0)
	}
	units := utf16.Encode([]rune(s))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(units)+1))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return append(b, 0, 0)
}

// decoder reads a payload. Its error sticks: the caller checks once.
type decoder struct {
	b   []byte
	at  int
	err error
}

// take returns the next n bytes, nil once something is wrong.
func (d *decoder) take(n int, what string) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.b)-d.at {
		d.err = fmt.Errorf("%s at byte %d of a payload of %d: %w", what, d.at, len(d.b), io.ErrUnexpectedEOF)
		return nil
	}
	d.at += n
	return d.b[d.at-n : d.at]
}

func (d *decoder) u32() uint32 {
	if b := d.take(4, "u32"); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.take(8, "u64"); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) cookie() (c Cookie) {
	copy(c[:], d.take(len(c), "runtime cookie"))
	return c
}

// text reads a string. What is no UTF-16 becomes U+FFFD.
func (d *decoder) text() string {
	count := d.u32()
	if d.err == nil && uint64(count) > uint64(maxUnits) {
		d.err = fmt.Errorf("string at byte %d: %d units, at most %d", d.at, count, maxUnits)
	}
	if d.err != nil {
		return ""
	}
	b := d.take(2*int(count), "string")
	if len(b) == 0 {
		return ""
	}
	units := make([]uint16, count)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	if last := len(units) - 1; units[last] == 0 {
		units = units[:last]
	}
	return string(utf16.Decode(units))
}
