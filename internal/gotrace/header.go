package gotrace

import (
	"fmt"
	"io"
	"strconv"
)

// The versions of the format. Go 1.24 writes version 23.
const (
	go122 = 22
	go123 = 23
	go125 = 25 // sync batches with a snapshot of the clocks
	go126 = 26 // in-band end of a generation

	supportedVersions = "go 1.22, 1.23 (also written by 1.24), 1.25 and 1.26"
)

const (
	headerPrefix = "go 1."
	headerSuffix = " trace\x00\x00\x00"
	// maxVersionDigits bounds the header: a version of more digits is not one.
	maxVersionDigits = 4
)

// readHeader reads "go 1.NN trace\0\0\0", the header of every Go trace.
func readHeader(s *source) (int, error) {
	if err := expect(s, headerPrefix); err != nil {
		return 0, err
	}
	digits := make([]byte, 0, maxVersionDigits+1)
	for {
		b, err := s.peek(1)
		if err != nil {
			return 0, err
		}
		if b[0] < '0' || b[0] > '9' || len(digits) > maxVersionDigits {
			break
		}
		digits = append(digits, b[0])
		s.skip(1)
	}
	if err := expect(s, headerSuffix); err != nil {
		return 0, err
	}
	v, err := strconv.Atoi(string(digits))
	if err != nil || len(digits) > maxVersionDigits {
		return 0, broken("not a Go execution trace: bad version in the header")
	}
	switch v {
	case go122, go123, go125, go126:
		return v, nil
	}
	return 0, fmt.Errorf("%w: this is go 1.%d, supported are %s", ErrVersion, v, supportedVersions)
}

func expect(s *source, want string) error {
	got, err := s.peek(len(want))
	if err != nil {
		return err
	}
	if string(got) != want {
		return broken("not a Go execution trace: bad header")
	}
	s.skip(len(want))
	return nil
}

// noThread is the thread of a batch that the tracer itself wrote.
const noThread = ^uint64(0)

// batchHeader is the head of one batch.
type batchHeader struct {
	end        bool // not a batch but the in-band end of a generation (Go 1.26)
	experiment bool // data of an experiment, in a format of its own
	generation uint64
	thread     uint64
	base       ticks
	head       int // bytes on the wire before the data
	size       int
}

// readBatchHeader reads up to the first byte of the batch's data. It returns
// io.EOF only if the stream ends cleanly before a batch.
func readBatchHeader(s *source, version int) (batchHeader, error) {
	var h batchHeader
	first, err := s.peek(1)
	if err != nil {
		return h, err
	}
	typ := eventType(first[0])
	switch {
	case typ == evEndOfGeneration && version >= go126:
		s.skip(1)
		h.end = true
		return h, nil
	case typ == evExperimentalBatch && version >= go123:
		h.experiment = true
	case first[0] == headerPrefix[0]:
		return h, broken("a second trace begins in the same stream")
	case typ != evEventBatch:
		return h, broken("event %d where a batch must begin", typ)
	}
	n := 1
	if h.experiment {
		n = 2
	}
	var v [4]uint64
	for k := range v {
		if v[k], n, err = peekVarint(s, n); err != nil {
			return h, err
		}
	}
	s.skip(n)
	h.generation, h.thread, h.base = v[0], v[1], ticks(v[2])
	if h.generation == 0 {
		return h, broken("generation 0")
	}
	if v[3] > MaxBatchBytes {
		return h, overLimit("batch bytes", int64(min(v[3], 1<<62)), MaxBatchBytes)
	}
	h.head, h.size = n, int(v[3])
	return h, nil
}

// peekVarint reads a varint n bytes ahead, without reading further than its
// end: a live stream may have no byte more for a while.
func peekVarint(s *source, n int) (uint64, int, error) {
	var v uint64
	for k := range maxVarintBytes {
		b, err := s.peek(n + k + 1)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, 0, err
		}
		c := b[n+k]
		if k == maxVarintBytes-1 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << (7 * k)
		if c < 0x80 {
			return v, n + k + 1, nil
		}
	}
	return 0, 0, broken("number too long in a batch header")
}
