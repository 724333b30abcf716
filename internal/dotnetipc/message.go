package dotnetipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
)

// magic begins every message; a message is magic, u16 size of the whole, u8
// command set, u8 command, u16 zero, payload. All is little endian.
const magic = "DOTNET_IPC_V1\x00"

const headerSize = len(magic) + 2 + 2 + 2

// command is a command set and a command of it.
type command uint16

// The commands that are sent, and no other.
const (
	stopTracing     command = 0x0201
	collectTracing2 command = 0x0203
	collectTracing3 command = 0x0204 // .NET 8
	collectTracing4 command = 0x0205 // .NET 9
	collectTracing5 command = 0x0206 // .NET 10
	processInfo     command = 0x0400 // .NET 5
	resumeRuntime   command = 0x0401 // .NET 5
	processInfo2    command = 0x0404 // .NET 6
	processInfo3    command = 0x0408 // .NET 8
)

// The replies.
const (
	replyOK    command = 0xFF00
	replyError command = 0xFFFF
)

func (c command) String() string {
	switch c {
	case stopTracing:
		return "StopTracing"
	case collectTracing2:
		return "CollectTracing2"
	case collectTracing3:
		return "CollectTracing3"
	case collectTracing4:
		return "CollectTracing4"
	case collectTracing5:
		return "CollectTracing5"
	case processInfo:
		return "ProcessInfo"
	case processInfo2:
		return "ProcessInfo2"
	case processInfo3:
		return "ProcessInfo3"
	case resumeRuntime:
		return "ResumeRuntime"
	}
	return fmt.Sprintf("command 0x%04x", uint16(c))
}

// encode returns the whole message, so that it goes out in one write.
func encode(c command, payload []byte) ([]byte, error) {
	size := headerSize + len(payload)
	if size > maxMessage {
		return nil, fmt.Errorf("encode %v: %d bytes, at most %d: ask for fewer providers or events", c, size, maxMessage)
	}
	m := make([]byte, 0, size)
	m = append(m, magic...)
	m = binary.LittleEndian.AppendUint16(m, uint16(size))
	m = append(m, byte(c>>8), byte(c), 0, 0)
	return append(m, payload...), nil
}

// decode reads one message. It reads no byte more than the message has: what
// follows may be a stream.
func decode(r io.Reader) (command, []byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, fmt.Errorf("read header: %w", err)
	}
	if !bytes.HasPrefix(header[:], []byte(magic)) {
		return 0, nil, fmt.Errorf("read header: magic is %q, want %q: not a .NET runtime", header[:len(magic)], magic)
	}
	rest := header[len(magic):]
	size := int(binary.LittleEndian.Uint16(rest))
	c := command(rest[2])<<8 | command(rest[3])
	if size < headerSize {
		return 0, nil, fmt.Errorf("read header: size is %d, want %d to %d", size, headerSize, maxMessage)
	}
	payload := make([]byte, size-headerSize)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, fmt.Errorf("read payload of %d bytes: %w", len(payload), noEOF(err))
	}
	return c, payload, nil
}

// reply reads an answer and returns its payload, or the [HResult] that it is.
func reply(r io.Reader) ([]byte, error) {
	c, payload, err := decode(r)
	if err != nil {
		return nil, err
	}
	switch c {
	case replyOK:
		return payload, nil
	case replyError:
		d := decoder{b: payload}
		code := HResult(d.u32())
		if d.err != nil {
			return nil, fmt.Errorf("read error code: %w", d.err)
		}
		return nil, code
	}
	return nil, fmt.Errorf("read answer: got %v, want 0x%04x or 0x%04x", c, uint16(replyOK), uint16(replyError))
}

// noEOF makes an end in the middle of a message what it is.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

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

// HResult is the error code of a runtime's answer: diagnostics IPC codes of
// the runtime's ds-rt-types.h, and those of Windows.
type HResult uint32

// The codes that have a meaning here.
const (
	BadEncoding          HResult = 0x80131384
	UnknownCommand       HResult = 0x80131385
	UnknownMagic         HResult = 0x80131386
	NotSupported         HResult = 0x80131515
	Fail                 HResult = 0x80004005
	NotYetAvailable      HResult = 0x8013135b
	RuntimeUninitialized HResult = 0x80131371
	InvalidArgument      HResult = 0x80070057
)

// Error returns what the code means.
func (h HResult) Error() string {
	meaning := "unknown code"
	switch h {
	case BadEncoding:
		meaning = "the runtime cannot read the command"
	case UnknownCommand:
		meaning = "the runtime does not know the command"
	case UnknownMagic:
		meaning = "the runtime does not know the protocol"
	case NotSupported:
		meaning = "the runtime does not support it"
	case Fail:
		meaning = "the runtime refuses"
	case NotYetAvailable:
		meaning = "not yet available: the runtime is starting"
	case RuntimeUninitialized:
		meaning = "the runtime is not initialized"
	case InvalidArgument:
		meaning = "the runtime does not accept an argument"
	}
	return fmt.Sprintf("%s (0x%08x)", meaning, uint32(h))
}
