package otelgc

import (
	"bytes"

	"github.com/otelgc/otelgc/stall"
)

const (
	maxTapped = 4 // generations that may wait for the reader of a tap
	maxTaps   = 4 // of one stream: each may hold maxTapped generations
)

// tap gives a second reader whole generations of our stream: a trace file of
// its own. A reader that is too slow loses whole generations, counted.
type tap struct {
	out    chan []byte
	joined bool // within a generation, which is not for it
	skip   bool // the current generation
	begun  bool
	missed uint64
}

func newTap(joins bool) *tap {
	return &tap{out: make(chan []byte, maxTapped), joined: joins, skip: joins}
}

// offer is called with the stream's lock held and must not block.
func (t *tap) offer(header, generation []byte) {
	data := bytes.Clone(generation)
	if !t.begun {
		data = append(bytes.Clone(header), generation...)
	}
	select {
	case t.out <- data:
		t.begun = true
	default:
		t.missed++
	}
}

func (t *tap) close() { close(t.out) }

// tap returns a tap on the stream for who reads since then, or false if the
// stream has ended or has too many. In a generation that had begun by then, not
// all is there that is marked for a reader: it has those that begin after it. When
// a generation but the first really began, nobody can tell from the stream.
func (s *stream) tap(since stall.Instant) (*tap, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.taps) >= maxTaps {
		return nil, false
	}
	t := newTap(s.later || since > s.born)
	s.taps = append(s.taps, t)
	return t, true
}

// untap ends t and returns how many generations it missed. Its channel is closed
// if the stream had not done so.
func (s *stream) untap(t *tap) (missed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.taps {
		if s.taps[i] == t {
			s.taps = append(s.taps[:i], s.taps[i+1:]...)
			t.close()
			break
		}
	}
	return t.missed
}
