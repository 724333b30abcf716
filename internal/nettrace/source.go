package nettrace

import (
	"errors"
	"io"
)

const (
	firstBufferBytes = 64 << 10
	// maxEmptyReads is how often a reader may return nothing and no error.
	maxEmptyReads = 100
)

// source is a buffered reader that hands out its buffer, without copying. The
// buffer grows with what has arrived, not with what a header promises.
type source struct {
	r      io.Reader
	buf    []byte
	lo, hi int   // unread bytes are buf[lo:hi]
	offset int64 // of buf[lo] in the stream
	err    error // of r, once it ended; never a timeout
}

// peek returns the next n bytes. At the end of the stream the error is
// io.ErrUnexpectedEOF if less than n bytes are left.
func (s *source) peek(n int) ([]byte, error) {
	for s.hi-s.lo < n {
		if s.err == io.EOF {
			return nil, io.ErrUnexpectedEOF
		}
		if s.err != nil {
			return nil, s.err
		}
		s.makeRoom(n)
		if err := s.readOnce(); err != nil {
			return nil, err
		}
	}
	return s.buf[s.lo : s.lo+n], nil
}

// rest returns what is unread.
func (s *source) rest() []byte { return s.buf[s.lo:s.hi] }

func (s *source) skip(n int) {
	s.lo += n
	s.offset += int64(n)
}

func (s *source) makeRoom(n int) {
	if s.lo > 0 && len(s.buf)-s.lo < n || s.lo == s.hi {
		s.hi = copy(s.buf, s.buf[s.lo:s.hi])
		s.lo = 0
	}
	if s.hi == len(s.buf) {
		// Twice as much, but not much more than is asked for.
		size := max(firstBufferBytes, min(2*len(s.buf), n+firstBufferBytes))
		s.buf = append(make([]byte, 0, size), s.buf...)[:size]
	}
}

// free gives back the memory of a large block that is done.
func (s *source) free() {
	if s.lo == s.hi && len(s.buf) > firstBufferBytes {
		s.buf, s.lo, s.hi = nil, 0, 0
	}
}

// readOnce reads something. A timeout is returned and may be over next time.
func (s *source) readOnce() error {
	for range maxEmptyReads {
		n, err := s.r.Read(s.buf[s.hi:])
		if n < 0 || n > len(s.buf)-s.hi {
			s.err = io.ErrNoProgress // a reader that breaks its contract
			return nil
		}
		s.hi += n
		if isTimeout(err) {
			if n > 0 {
				return nil
			}
			return err
		}
		s.err = err
		if n > 0 || err != nil {
			return nil
		}
	}
	s.err = io.ErrNoProgress
	return nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return err != nil && errors.As(err, &t) && t.Timeout()
}
