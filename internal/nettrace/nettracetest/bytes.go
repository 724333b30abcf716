package nettracetest

import (
	"encoding/binary"
	"unicode/utf16"
)

// sized is b behind its size, as format 6 has it.
func sized(b []byte) []byte { return append([]byte{byte(len(b)), byte(len(b) >> 8)}, b...) }

// text is a string of format 6.
func text(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }

// wide is a string of the formats before 6: UTF-16, ended by a zero.
func wide(s string) []byte {
	var b []byte
	for _, c := range append(utf16.Encode([]rune(s)), 0) {
		b = append(b, byte(c), byte(c>>8))
	}
	return b
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
