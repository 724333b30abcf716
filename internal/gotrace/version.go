package gotrace

import (
	"fmt"
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
