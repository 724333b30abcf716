package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Kind is the type of a frame.
type Kind byte

const (
	KindHello      Kind = 'H'
	KindWindow     Kind = 'W'
	KindCollection Kind = 'C'
	KindSuspension Kind = 'S'
	KindGap        Kind = 'G'
	KindFarewell   Kind = 'F'
	KindFailure    Kind = 'X'
)

// maxPayload bounds the payload of a frame, in bytes.
const maxPayload = 64 << 10

// Writer writes frames. Its methods may be called by many goroutines.
type Writer struct {
	mu  sync.Mutex
	to  *bufio.Writer
	buf []byte
	err error
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: bufio.NewWriterSize(w, maxPayload)} }

// write writes one frame whose payload is what fill appends. After an error it
// does nothing but return it.
func (w *Writer) write(k Kind, fill func([]byte) []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.buf = fill(w.buf[:0])
	if len(w.buf) > maxPayload {
		return fmt.Errorf("write frame %q: payload of %d bytes, at most %d", k, len(w.buf), maxPayload)
	}
	var head [1 + binary.MaxVarintLen64]byte
	head[0] = byte(k)
	n := 1 + binary.PutUvarint(head[1:], uint64(len(w.buf)))
	if _, err := w.to.Write(head[:n]); err != nil {
		w.err = fmt.Errorf("write frame %q: %w", k, err)
	} else if _, err := w.to.Write(w.buf); err != nil {
		w.err = fmt.Errorf("write frame %q: %w", k, err)
	}
	return w.err
}

// Flush hands on what is buffered.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if err := w.to.Flush(); err != nil {
		w.err = fmt.Errorf("flush frames: %w", err)
	}
	return w.err
}

// Reader reads frames.
type Reader struct {
	from   *bufio.Reader
	offset int64
	buf    []byte
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{from: bufio.NewReaderSize(r, maxPayload)} }

// Next returns the next frame. The payload is good until Next is called again.
// The error is io.EOF after the last frame, wraps io.ErrUnexpectedEOF in the
// middle of one, and says the byte offset of the frame otherwise.
func (r *Reader) Next() (Kind, []byte, error) {
	at := r.offset
	k, err := r.from.ReadByte()
	if err == io.EOF {
		return 0, nil, io.EOF
	} else if err != nil {
		return 0, nil, fmt.Errorf("read frame at byte %d: %w", at, err)
	}
	r.offset++
	if !Kind(k).known() {
		return 0, nil, fmt.Errorf("read frame at byte %d: unknown type %#x", at, k)
	}
	n, err := r.length()
	if err != nil {
		return 0, nil, fmt.Errorf("read length of frame at byte %d: %w", at, err)
	}
	if n > maxPayload {
		return 0, nil, fmt.Errorf("read frame at byte %d: payload of %d bytes, at most %d", at, n, maxPayload)
	}
	if uint64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	r.buf = r.buf[:n]
	m, err := io.ReadFull(r.from, r.buf)
	r.offset += int64(m)
	if err != nil {
		return 0, nil, fmt.Errorf("read payload of frame at byte %d: %w", at, unexpected(err))
	}
	return Kind(k), r.buf, nil
}

func (r *Reader) length() (uint64, error) {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := r.from.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		r.offset++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, errors.New("varint is longer than 10 bytes")
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (k Kind) known() bool {
	switch k {
	case KindHello, KindWindow, KindCollection, KindSuspension, KindGap, KindFarewell, KindFailure:
		return true
	}
	return false
}
