package otelgc

import "github.com/otelgc/otelgc/stall"

// forgone is what was not kept, and where it lies.
type forgone struct {
	n uint64
	stall.Span
}

func (f *forgone) add(n uint64, s stall.Span) {
	if f.n == 0 {
		f.Span = s
	}
	f.n += n
	f.Start, f.End = min(f.Start, s.Start), max(f.End, s.End)
}

// tellForgone counts what nobody was told of, since it waited for too long. The next
// status calls its time unseen.
func (m *Monitor) tellForgone() {
	for item, f := range map[string]forgone{"collection": m.reconciler.takeLost(), "suspension": m.suspensions.takeLost()} {
		if f.n > 0 {
			m.tel.Dropped(item, "held_limit", f.n)
			m.tel.Untold(stall.GCWatch, f.Span)
		}
	}
}
