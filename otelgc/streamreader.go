package otelgc

import "io"

// streamReader is the decoder's side of a stream.
type streamReader struct {
	s     *stream
	buf   []byte // the rest of chunk
	chunk []byte
	pace  *pacer // counts the work between two waits
}

// Read blocks until there is the header or a whole generation, and returns io.EOF when the
// stream is closed.
func (r *streamReader) Read(p []byte) (int, error) {
	for len(r.buf) == 0 {
		if r.chunk != nil {
			r.s.discard(r.chunk)
			r.chunk = nil
		}
		r.pace.end()
		chunk, ok := <-r.s.ready
		r.pace.begin()
		if !ok {
			return 0, io.EOF
		}
		r.chunk, r.buf = chunk, chunk
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}
