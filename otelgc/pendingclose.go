package otelgc

import "time"

// publishWait is how long close waits for those who are adding a window just
// then, which takes some nanoseconds unless they lose their CPU.
const publishWait = 100 * time.Millisecond

// close has the queue take nothing from now on: nobody would resolve it.
func (p *pending) close() {
	p.mu.Lock()
	if tail := p.tail.Load(); tail != nil && !p.closed {
		p.last = int(min(tail.reserved.Add(blockCells)-blockCells, blockCells))
	}
	p.closed, p.spare = true, nil
	p.mu.Unlock()
	for deadline := time.Now().Add(publishWait); p.writing() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// writing reports whether a window is being added.
func (p *pending) writing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, b := range p.live {
		from, to := 0, blockCells
		if n == 0 {
			from = p.taken
		}
		if n == len(p.live)-1 {
			to = p.inTail()
		}
		for i := from; i < to; i++ {
			if _, ok := b.read(i); !ok {
				return true
			}
		}
	}
	return false
}
