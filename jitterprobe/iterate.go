package jitterprobe

import (
	"iter"
	"slices"
)

// maxUnread bounds the gaps that wait for one iterator: 8 MiB. At 500 a second
// it is two minutes.
const maxUnread = 1 << 16

// tap is what one iterator has not read yet.
type tap struct {
	gaps []Gap
	news chan struct{} // has room for one; closed when the probe has ended
}

// Gaps returns the gaps that come to light from the first step of the iteration
// on, in the order of their ends, until the probe has ended. An iteration that
// waits holds nothing up; gaps for which it is too slow are counted in
// [Snapshot.Unread]. Any number of them may run at once.
func (p *Probe) Gaps() iter.Seq[Gap] {
	return func(yield func(Gap) bool) {
		t := p.open()
		defer p.shut(t)
		var list []Gap
		for open := true; open; {
			_, open = <-t.news
			list = p.read(t, list[:0])
			for _, g := range list {
				if !yield(g) {
					return
				}
			}
		}
	}
}

func (p *Probe) open() *tap {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &tap{news: make(chan struct{}, 1)}
	if p.ended {
		close(t.news)
	} else {
		p.taps = append(p.taps, t)
	}
	return t
}

func (p *Probe) shut(t *tap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taps = slices.DeleteFunc(p.taps, func(o *tap) bool { return o == t })
}

// read moves what t holds to list, and gives t the room of list.
func (p *Probe) read(t *tap, list []Gap) []Gap {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, t.gaps = t.gaps, list
	return list
}

// pass gives the batch to the iterators. The caller holds p.mu.
func (p *Probe) pass(s *Snapshot) {
	if len(p.batch) == 0 {
		return
	}
	for _, t := range p.taps {
		n := min(len(p.batch), maxUnread-len(t.gaps))
		t.gaps = append(t.gaps, p.batch[:n]...)
		s.Unread += uint64(len(p.batch) - n)
		select {
		case t.news <- struct{}{}:
		default:
		}
	}
}

// hangUp ends the iterations.
func (p *Probe) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, t := range p.taps {
		close(t.news)
	}
	p.taps = nil
}
