package nettrace

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// eventType is a type of event: one row of metadata.
type eventType struct {
	provider, name string
	id, version    int
	wanted         bool
}

// types are the types of events, by their ids, which are small and dense.
type types struct {
	list    []*eventType
	defined int               // entries of list that are not nil
	byName  map[string]string // keeps one copy of each name
	bytes   int               // of the names, with what it takes to keep them
	scratch []byte
}

func (t *types) get(id uint32) *eventType {
	if uint64(id) < uint64(len(t.list)) {
		return t.list[id]
	}
	return nil
}

func (t *types) forget() {
	*t = types{byName: make(map[string]string)}
}

func (t *types) intern(b []byte, limit int) (string, error) {
	if s, ok := t.byName[string(b)]; ok {
		return s, nil
	}
	if t.bytes += len(b) + nameBytes; t.bytes > limit {
		return "", overLimit("name bytes", uint64(t.bytes), uint64(limit))
	}
	s := string(b)
	t.byName[s] = s
	return s, nil
}

// internWide is intern of UTF-16.
func (t *types) internWide(b []byte, limit int) (string, error) {
	if n := len(b) / 2; n > limit {
		return "", overLimit("name bytes", uint64(n), uint64(limit))
	}
	return t.intern(t.fromWide(b), limit)
}

// fromWide turns UTF-16 into UTF-8, in memory that the next call uses.
func (t *types) fromWide(b []byte) []byte {
	t.scratch = t.scratch[:0]
	for i := 0; i+1 < len(b); i += 2 {
		c := rune(b[i]) | rune(b[i+1])<<8
		if utf16.IsSurrogate(c) && i+3 < len(b) {
			if pair := utf16.DecodeRune(c, rune(b[i+2])|rune(b[i+3])<<8); pair != utf8.RuneError {
				c = pair
				i += 2
			}
		}
		t.scratch = utf8.AppendRune(t.scratch, c)
	}
	return t.scratch
}

// define adds a type. Names are UTF-8.
func (r *Reader) define(id uint32, provider, name string, event, version int) error {
	if uint64(id) > uint64(r.limits.Metadata) {
		return overLimit("metadata id", uint64(id), uint64(r.limits.Metadata))
	}
	for len(r.types.list) <= int(id) {
		r.types.list = append(r.types.list, nil)
	}
	if r.types.list[id] == nil {
		r.types.defined++
	} else {
		// What is held would keep the type that was there, and so on.
		r.held.releaseAll()
	}
	wanted := r.want == nil || r.want(provider, event, version)
	r.types.list[id] = &eventType{provider, name, event, version, wanted}
	return nil
}

// defineType reads a type of formats 4 and 5: i32 id, provider, i32 event id,
// name, u64 keywords, i32 version, and what is not needed here.
func (r *Reader) defineType(payload []byte) error {
	c := cursor{b: payload}
	id := c.u32()
	provider, err := r.types.internWide(c.wide(), r.limits.NameBytes)
	if err != nil {
		return err
	}
	event := int(int32(c.u32()))
	name, err := r.types.internWide(c.wide(), r.limits.NameBytes)
	if err != nil {
		return err
	}
	c.u64()
	version := int(int32(c.u32()))
	if c.bad {
		return broken("metadata of %d bytes is too short", len(payload))
	}
	return r.define(id, provider, name, event, version)
}

// defineTypes reads a metadata block of format 6: u16 length of a header to
// skip, then rows of u16 length.
func (r *Reader) defineTypes(c *cursor) error {
	c.take(int(c.u16()))
	for c.more() {
		r.steps++
		row := c.sub(int(c.u16()))
		id := row.uvarint32()
		provider, err := r.types.intern(row.text(), r.limits.NameBytes)
		if err != nil {
			return err
		}
		event := int(row.uvarint32())
		name, err := r.types.intern(row.text(), r.limits.NameBytes)
		if err != nil {
			return err
		}
		for range row.u16() {
			row.take(int(row.u16())) // a field
		}
		options := row.sub(int(row.u16()))
		version := readVersion(&options)
		if row.bad {
			return broken("metadata row is too short")
		}
		if err := r.define(id, provider, name, event, version); err != nil {
			return err
		}
	}
	if c.bad {
		return broken("metadata block ends within a row")
	}
	return nil
}

// readVersion looks for the version of an event among the optional parts of
// its type, up to the first that it does not know.
func readVersion(c *cursor) int {
	for c.more() {
		switch c.u8() {
		case 1, 8: // opcode, level
			c.u8()
		case 3: // keywords
			c.u64()
		case 4, 5: // message template, description
			c.text()
		case 6: // key and value
			c.text()
			c.text()
		case 7: // the provider's id
			c.take(16)
		case 9:
			return int(c.u8())
		default:
			return 0
		}
	}
	return 0
}

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
