package nettracetest

import "encoding/binary"

// key is what makes two events of one type.
type key struct {
	provider, name string
	id, version    int
}

func keyOf(e Event) key { return key{e.Provider, e.Name, e.ID, e.Version} }

// define writes the type of an event, if it is a new one.
func (w *Writer) define(e Event) {
	if w.types[keyOf(e)] != 0 {
		return
	}
	id := uint32(len(w.types) + 1)
	w.types[keyOf(e)] = id
	if w.o.Version == 6 {
		w.Block(3, append([]byte{3, 0, 0xaa, 0xbb, 0xcc}, sized(row6(id, e))...))
		return
	}
	row := append(le32(id), wide(e.Provider)...)
	row = append(append(row, le32(uint32(e.ID))...), wide(e.Name)...)
	row = append(append(row, le64(1)...), le32(uint32(e.Version))...)
	row = append(append(row, le32(4)...), le32(0)...)
	body := append([]byte{20, 0, 1, 0}, make([]byte, 16)...)
	if w.o.Plain {
		body[2] = 0
		body = w.plain(body, compressed{size: len(row)}, row)
	} else {
		body = append(compressed{size: len(row)}.after(body, compressed{}), row...)
	}
	w.Block(3, body)
}

func row6(id uint32, e Event) []byte {
	row := append(binary.AppendUvarint(nil, uint64(id)), text(e.Provider)...)
	row = append(binary.AppendUvarint(row, uint64(e.ID)), text(e.Name)...)
	row = append(row, 1, 0) // one field
	row = append(row, sized(append(text("Count"), 10))...)
	options := append([]byte{1, 7, 3}, le64(1)...)
	options = append(append(options, 4), text("a {template}")...)
	options = append(options, 8, 4, 9, byte(e.Version))
	return append(row, sized(options)...)
}
