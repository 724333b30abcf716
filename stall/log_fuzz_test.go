package stall

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const modelTime = 256

// logModel is a Log for the instants from 1 to modelTime, without thought of
// speed: unseen time is a flag per instant.
type logModel struct {
	size, spans      int
	kept             []Interval
	unseen           [modelTime + 1]bool
	begun            bool
	floor, watermark Instant
	dropped          uint64
	lost             time.Duration
}

func (m *logModel) add(v Interval) {
	if v.End <= v.Start {
		return
	}
	if len(m.kept) == m.size {
		if v.Start < m.kept[0].Start {
			m.dropped++
			m.lost += time.Duration(v.End - v.Start)
			m.floor = max(m.floor, v.End+Instant(v.Slack))
			return
		}
		m.forgetOldest()
	}
	var before, after []Interval
	for _, k := range m.kept {
		if k.Start <= v.Start {
			before = append(before, k)
		} else {
			after = append(after, k)
		}
	}
	m.kept = append(append(before, v), after...)
}

func (m *logModel) forgetOldest() {
	m.floor = max(m.floor, m.kept[0].End+Instant(m.kept[0].Slack))
	m.kept = m.kept[1:]
}

func (m *logModel) resize(size int) {
	for m.size = size; len(m.kept) > size; {
		m.forgetOldest()
	}
}

func (m *logModel) forget(t Instant) {
	for len(m.kept) > 0 && m.kept[0].End+Instant(m.kept[0].Slack) <= t {
		m.forgetOldest()
	}
}

func (m *logModel) runs() []Span {
	var list []Span
	for t := 0; t <= modelTime; t++ {
		if !m.unseen[t] {
			continue
		}
		if n := len(list); n > 0 && list[n-1].End == Instant(t) {
			list[n-1].End++
		} else {
			list = append(list, Span{Instant(t), Instant(t) + 1})
		}
	}
	return list
}

func (m *logModel) fill(s Span, unseen bool) {
	for t := s.Start; t < s.End; t++ {
		m.unseen[t] = unseen
	}
}

func (m *logModel) markUnseen(s Span) {
	m.fill(s, true)
	runs := m.runs()
	if len(runs) <= m.spans {
		return
	}
	if runs[0].End <= m.floor {
		for _, r := range runs {
			if r.End <= m.floor {
				m.fill(r, false)
			}
		}
		return
	}
	closest := Span{0, modelTime}
	for i := range runs[1:] {
		if gap := (Span{runs[i].End, runs[i+1].Start}); gap.Duration() < closest.Duration() {
			closest = gap
		}
	}
	m.fill(closest, true)
}

func (m *logModel) begin(t Instant) {
	if m.begun {
		m.markUnseen(Span{m.watermark, t})
		m.watermark = max(m.watermark, t)
		return
	}
	m.begun, m.watermark, m.floor = true, t, max(m.floor, t)
}

func (m *logModel) advance(t Instant) {
	if !m.begun {
		m.begin(t)
	}
	m.watermark = max(m.watermark, t)
}

func (m *logModel) seen(s Span) []Span {
	var list []Span
	for t := s.Start; t < s.End; t++ {
		if !m.begun || t < m.floor || t >= m.watermark || m.unseen[t] {
			continue
		}
		if n := len(list); n > 0 && list[n-1].End == t {
			list[n-1].End++
		} else {
			list = append(list, Span{t, t + 1})
		}
	}
	return list
}

func (m *logModel) intervals(s Span) []Interval {
	var list []Interval
	for _, v := range m.kept {
		if s.Start < s.End && v.Start-Instant(v.Slack) < s.End && v.End+Instant(v.Slack) > s.Start {
			list = append(list, v)
		}
	}
	return list
}

// FuzzLog holds a Log to the model through any sequence of calls.
func FuzzLog(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		b := make([]byte, 200)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &script{b}
		size, spans := 1+r.next(6), 1+r.next(4)
		l, m := NewLog(GoTrace, size, spans), &logModel{size: size, spans: spans}
		span := func() Span {
			start := 1 + r.next(200)
			return Span{Instant(start), Instant(start + r.next(40) - 2)}
		}
		for len(r.rest) > 0 {
			switch s := span(); r.next(8) {
			case 0, 1:
				v := Interval{Start: s.Start, End: s.End, Slack: time.Duration(r.next(2) * r.next(9)), Origin: GoTrace, CPU: int32(len(r.rest))}
				l.Add(v)
				m.add(v)
			case 2:
				l.MarkUnseen(s)
				m.markUnseen(s)
			case 3:
				l.Advance(s.Start)
				m.advance(s.Start)
			case 4:
				if r.next(4) == 0 {
					l.Begin(s.Start)
					m.begin(s.Start)
				}
			case 5:
				n := 1 + r.next(9)
				l.Resize(n)
				m.resize(n)
			case 6:
				l.Forget(s.Start)
				m.forget(s.Start)
			case 7:
				compareLog(t, l, m, s)
			}
		}
		compareLog(t, l, m, Span{1, modelTime})
	})
}

func compareLog(t *testing.T, l *Log, m *logModel, s Span) {
	t.Helper()
	if diff := cmp.Diff(m.intervals(s), l.Intervals(nil, s)); diff != "" {
		t.Errorf("Intervals(%v) (-want +got):\n%s", s, diff)
	}
	want := m.seen(s)
	if diff := cmp.Diff(want, l.Seen(nil, s)); diff != "" {
		t.Errorf("Seen(%v) (-want +got):\n%s", s, diff)
	}
	var sum time.Duration
	for _, v := range want {
		sum += v.Duration()
	}
	coverage := 1.0
	if s.Start < s.End {
		coverage = float64(sum) / float64(s.Duration())
	}
	if got := l.Coverage(s); got != coverage {
		t.Errorf("Coverage(%v): got %v, want %v", s, got, coverage)
	}
	if n, d := l.Dropped(); n != m.dropped || d != m.lost {
		t.Errorf("Dropped: got %d, %v, want %d, %v", n, d, m.dropped, m.lost)
	}
	if n, room := l.Size(); n != len(m.kept) || room != m.size {
		t.Errorf("Size: got %d of %d, want %d of %d", n, room, len(m.kept), m.size)
	}
	if got := l.Watermark(); got != m.watermark {
		t.Errorf("Watermark: got %d, want %d", got, m.watermark)
	}
}
