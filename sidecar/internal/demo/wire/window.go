package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Window writes a window and its share. Receipt and Place are not written.
func (w *Writer) Window(v *stall.Window, s *stall.Share) error {
	return w.write(KindWindow, func(b []byte) []byte { return appendWindow(b, v, s) })
}

// appendWindow appends the payload of a frame of KindWindow.
func appendWindow(b []byte, v *stall.Window, s *stall.Share) []byte {
	start := v.Start
	if v.Arrival != 0 {
		start = v.Arrival
	}
	b = binary.AppendVarint(b, int64(start))
	b = binary.AppendVarint(b, int64(v.Start-start))
	b = binary.AppendVarint(b, int64(v.End-v.Start))
	flags := uint64(s.Fidelity) << 1
	if v.Arrival != 0 {
		flags |= 1
	}
	b = binary.AppendUvarint(b, flags)
	for _, d := range []time.Duration{s.Total, s.Uncertain, s.App, s.AppOrHost, s.Unseen, s.Covered} {
		b = binary.AppendUvarint(b, uint64(d))
	}
	b = binary.AppendUvarint(b, uint64(s.Pauses))
	b = binary.AppendUvarint(b, uint64(s.Collections))
	if s.Collections > 0 {
		b = binary.AppendVarint(b, int64(s.LastCollection-start))
	}
	for _, list := range lists(s) {
		b = appendCauses(b, list)
	}
	return b
}

func lists(s *stall.Share) [4]*[stall.NumCauses]time.Duration {
	return [...]*[stall.NumCauses]time.Duration{&s.Charged, &s.Overlapped, &s.HostDuring, &s.Coincident}
}

func appendCauses(b []byte, list *[stall.NumCauses]time.Duration) []byte {
	var set uint64
	for c, d := range list {
		if d != 0 {
			set |= 1 << c
		}
	}
	b = binary.AppendUvarint(b, set)
	for ; set != 0; set &= set - 1 {
		b = binary.AppendUvarint(b, uint64(list[bits.TrailingZeros64(set)]))
	}
	return b
}

// maxPauses bounds the pauses that a window may claim to overlap, and the
// collections.
const maxPauses = 1 << 30

// DecodeWindow decodes the payload of a frame of KindWindow into v and s. It
// refuses a share that does not sum to its total.
func DecodeWindow(b []byte, v *stall.Window, s *stall.Share) error {
	p := payload{rest: b}
	*v, *s = stall.Window{}, stall.Share{}
	start := p.after(0)
	v.Start = p.after(start)
	v.End = p.after(v.Start)
	flags := p.limit("flags", 4)
	if flags&1 != 0 {
		v.Arrival = start
	} else if start != v.Start {
		p.fail(fmt.Errorf("window without arrival begins at %d and at %d", start, v.Start))
	}
	if v.End < v.Start {
		p.fail(fmt.Errorf("window ends %v before it starts", v.Start.Sub(v.End)))
	}
	s.Fidelity = stall.Fidelity(flags >> 1)
	for _, d := range []*time.Duration{&s.Total, &s.Uncertain, &s.App, &s.AppOrHost, &s.Unseen, &s.Covered} {
		*d = p.duration()
	}
	s.Pauses = int(p.limit("number of pauses", maxPauses))
	s.Collections = int(p.limit("number of collections", maxPauses))
	if s.Collections > 0 {
		s.LastCollection = p.after(start)
	}
	for _, list := range lists(s) {
		p.causes(list)
	}
	if sum := sumOf(s); sum != s.Total {
		p.fail(fmt.Errorf("share sums to %v, want its total of %v", sum, s.Total))
	}
	if (s.Collections > 0) != (s.GC() > 0) {
		p.fail(fmt.Errorf("%d collections delayed the window by %v", s.Collections, s.GC()))
	}
	if s.Covered > s.Total {
		p.fail(fmt.Errorf("share covers %v of %v", s.Covered, s.Total))
	}
	return p.end(KindWindow)
}

func (p *payload) causes(list *[stall.NumCauses]time.Duration) {
	set := p.limit("set of causes", 1<<stall.NumCauses)
	if set&(1<<stall.NoCause) != 0 {
		p.fail(fmt.Errorf("set of causes %#x holds no cause", set))
		return
	}
	for ; set != 0; set &= set - 1 {
		list[bits.TrailingZeros64(set)] = p.duration()
	}
}

// sumOf returns the sum of all that has a share of s.Total.
func sumOf(s *stall.Share) time.Duration {
	sum := s.Uncertain + s.App + s.AppOrHost + s.Unseen
	for _, d := range s.Charged {
		sum += d
	}
	return sum
}
