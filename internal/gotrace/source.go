package gotrace

import "io"

// slop is the number of bytes that can be read past the end of any peeked
// slice: an event is at most 1 + 5 varints of 10 bytes, so that the decoder
// can read a whole event before it checks that the event was there.
const slop = 128

// bufferBytes holds a batch with its header, and the slop.
const bufferBytes = 2*MaxBatchBytes + slop

// source is a buffered reader that hands out its buffer, without copying.
type source struct {
	r      io.Reader
	buf    []byte // bufferBytes long
	lo, hi int    // unread bytes are buf[lo:hi]; hi <= len(buf)-slop
	offset int64  // of buf[lo] in the stream
	err    error  // of r, once it ended
}

func newSource() *source { return &source{buf: make([]byte, bufferBytes)} }

func (s *source) reset(r io.Reader) { *s = source{r: r, buf: s.buf} }

// peek returns the next n bytes, n at most MaxBatchBytes. At the end of the
// stream the error is io.EOF if nothing is left, io.ErrUnexpectedEOF if less
// than n bytes are.
func (s *source) peek(n int) ([]byte, error) {
	if err := s.fill(n); err != nil {
		return nil, err
	}
	return s.buf[s.lo : s.lo+n], nil
}

// sloppy returns the next n bytes followed by slop bytes of any content.
func (s *source) sloppy(n int) ([]byte, error) {
	if err := s.fill(n); err != nil {
		return nil, err
	}
	return s.buf[s.lo : s.lo+n+slop], nil
}

func (s *source) skip(n int) {
	s.lo += n
	s.offset += int64(n)
}

func (s *source) fill(n int) error {
	for s.hi-s.lo < n {
		if s.err != nil {
			if s.err == io.EOF && s.hi > s.lo {
				return io.ErrUnexpectedEOF
			}
			return s.err
		}
		if len(s.buf)-slop-s.lo < n {
			s.hi = copy(s.buf, s.buf[s.lo:s.hi])
			s.lo = 0
		}
		s.readOnce()
	}
	return nil
}

// maxEmptyReads is how often a reader may return nothing and no error.
const maxEmptyReads = 100

func (s *source) readOnce() {
	for range maxEmptyReads {
		n, err := s.r.Read(s.buf[s.hi : len(s.buf)-slop])
		if n < 0 || n > len(s.buf)-slop-s.hi {
			s.err = io.ErrNoProgress // a reader that breaks its contract
			return
		}
		s.hi += n
		s.err = err
		if n > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}
