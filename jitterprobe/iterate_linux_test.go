package jitterprobe

import (
	"testing"
)

func TestGapsIterates(t *testing.T) {
	needSpin(t)
	told := make(map[Gap]bool)
	p := start(t, Options{Mode: Spin, Force: true, OnGap: func(g Gap) { told[g] = true }})
	var list []Gap
	for g := range p.Gaps() {
		if list = append(list, g); len(list) == 10 {
			break
		}
	}
	rest := make(chan int)
	go func() {
		n := 0
		for range p.Gaps() {
			n++
		}
		rest <- n
	}()
	before := p.Snapshot().Gaps
	within(t, "more gaps", func() bool { return p.Snapshot().Gaps >= before+10 })
	s := p.Stop()
	if n := <-rest; n < 10 {
		t.Errorf("an iteration until the end: got %d gaps, want 10 or more", n)
	}
	for i, g := range list {
		if !told[g] || i > 0 && g.End < list[i-1].End {
			t.Errorf("gap %d: %+v, told %v", i, g, told[g])
		}
	}
	if s.Unread != 0 {
		t.Errorf("unread: got %d, want 0", s.Unread)
	}
	for range p.Gaps() {
		t.Error("a gap after the end")
	}
}

// Who does not read holds nobody up.
func TestSlowIterationIsCounted(t *testing.T) {
	p := &Probe{batch: make([]Gap, maxUnread/2+1)}
	slow := p.open()
	var s Snapshot
	for range 3 {
		p.pass(&s)
	}
	if want := uint64(3*len(p.batch) - maxUnread); s.Unread != want || len(slow.gaps) != maxUnread {
		t.Errorf("unread: got %d, kept %d, want %d, %d", s.Unread, len(slow.gaps), want, maxUnread)
	}
	p.shut(slow)
	p.pass(&s)
	if len(p.taps) != 0 || len(slow.gaps) != maxUnread {
		t.Error("an iteration that has ended is still told")
	}
}
