package recording

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// Kind is the kind of a record. The numbers are part of the format.
type Kind uint8

// The kinds.
const (
	KindEnvironment Kind = 1
	KindTarget      Kind = 2
	KindBareGaps    Kind = 3 // without evidence, as they were written at first
	KindCollection  Kind = 4
	KindSuspension  Kind = 5
	KindStatus      Kind = 6
	KindDoctor      Kind = 7
	KindEnd         Kind = 8
	KindProbe       Kind = 9
	KindGaps        Kind = 10
	KindHost        Kind = 11
)

// frameHead is the length of a record's length and checksum.
const frameHead = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a record.
func appendFrame(b []byte, kind Kind, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(1+len(payload)))
	sum := crc32.Update(crc32.Checksum([]byte{byte(kind)}, castagnoli), castagnoli, payload)
	b = binary.LittleEndian.AppendUint32(b, sum)
	b = append(b, byte(kind))
	return append(b, payload...)
}

// readFrame reads a record into buf, which it returns grown. At a place where no
// record begins the error is io.EOF; within one it is io.ErrUnexpectedEOF, and so
// where all that is left are zeros: of the bytes that a machine did not get to
// its disk before it lost power the file may have the place alone.
func readFrame(r *bufio.Reader, buf []byte) (kind Kind, body []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, buf, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if head == [frameHead]byte{} && onlyZeros(r) {
		return 0, buf, io.ErrUnexpectedEOF
	}
	if n == 0 || n > MaxRecord {
		return 0, buf, fmt.Errorf("%w: record of %d bytes, want 1 to %d", ErrFormat, n, MaxRecord)
	}
	if uint32(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(r, buf); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, buf, err
	}
	if got, want := crc32.Checksum(buf, castagnoli), binary.LittleEndian.Uint32(head[4:]); got != want {
		if buf[n-1] == 0 && onlyZeros(r) {
			return 0, buf, io.ErrUnexpectedEOF
		}
		return 0, buf, fmt.Errorf("%w: checksum %08x, want %08x", ErrFormat, got, want)
	}
	return Kind(buf[0]), buf, nil
}

// onlyZeros reports whether the file ends with no other byte.
func onlyZeros(r *bufio.Reader) bool {
	for {
		switch b, err := r.ReadByte(); {
		case err != nil:
			return err == io.EOF
		case b != 0:
			return false
		}
	}
}
