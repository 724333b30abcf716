package otelgc

import "github.com/otelgc/otelgc/stall"

// loss is what was not kept, and where it lies.
type loss struct {
	n uint64
	stall.Span
}

func (f *loss) add(n uint64, s stall.Span) {
	if f.n == 0 {
		f.Span = s
	}
	f.n += n
	f.Start, f.End = min(f.Start, s.Start), max(f.End, s.End)
}

// tellDropped counts what nobody was told of, since it waited for too long. The next
// status calls its time unseen.
func (m *Monitor) tellDropped() {
	for item, f := range map[string]loss{"collection": m.reconciler.takeLost(), "suspension": m.suspensions.takeLost()} {
		if f.n > 0 {
			m.tel.Dropped(item, "held_limit", f.n)
			m.tel.Untold(stall.GCWatch, f.Span)
		}
	}
}
