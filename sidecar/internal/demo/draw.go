package demo

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
)

// keptDrawn is how many windows the service keeps with their pieces: so many of the
// slowest, and as many taken at random, of which one will be near the median.
const keptDrawn = 32

// gallery keeps the pieces of windows to be drawn.
type gallery struct {
	mu      sync.Mutex
	slowest []drawn // the slowest first
	random  []drawn
	seen    int
}

// keep looks at a window that is over.
func (g *gallery) keep(r *otelgc.SlowRequest) {
	if r.Window.Arrival == 0 || len(r.Pieces) == 0 {
		return // it only opened a connection
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := func() drawn {
		return drawn{Arrival: r.Window.Arrival, Pieces: slices.Clone(r.Pieces), Coarse: r.Coarse}
	}
	i, _ := slices.BinarySearchFunc(g.slowest, r.Share.Total, func(d drawn, t time.Duration) int { return cmp.Compare(t, d.lasted()) })
	if i < keptDrawn {
		g.slowest = slices.Insert(g.slowest, i, kept())
		g.slowest = g.slowest[:min(len(g.slowest), keptDrawn)]
	}
	// Each window is as likely as any other to be among the random ones.
	if g.seen++; len(g.random) < keptDrawn {
		g.random = append(g.random, kept())
	} else if k := rand.IntN(g.seen); k < keptDrawn {
		g.random[k] = kept()
	}
}

// all returns what was kept.
func (g *gallery) all() []drawn {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Concat(g.slowest, g.random)
}

// lasted returns how long the window lasted; it has pieces.
func (d *drawn) lasted() time.Duration { return d.Pieces[len(d.Pieces)-1].End.Sub(d.Arrival) }

// draw returns request k as it is to be drawn, nil if the service did not keep its pieces.
func (m *matcher) draw(k int, name string, outside outsideGaps) *strip.Request {
	answer := &m.answers[k]
	kept, is := m.drawn[answer.Arrival]
	if !is || !m.matched(k) {
		return nil
	}
	r := &strip.Request{Name: name, Pieces: m.pieces(answer, kept.Pieces), Coarse: kept.Coarse}
	span := r.Span()
	m.near = m.stops.Intervals(m.near[:0], span)
	r.Stops = slices.Clone(m.near)
	for _, c := range m.account.active {
		if c.Active.Clip(span).Empty() {
			continue
		}
		drawn := strip.Collection{Index: c.Index, Span: c.Active}
		for _, v := range r.Stops {
			if v.Cause == stall.GCPause && v.Ref == c.Index {
				drawn.Pauses = append(drawn.Pauses, v.Span())
			}
		}
		r.Collections = append(r.Collections, drawn)
	}
	r.Gaps = m.denied.Intervals([]stall.Interval{}, span)
	for i := range outside {
		if !outside[i].Span().Clip(span).Empty() {
			r.Gaps = append(r.Gaps, outside[i])
		}
	}
	r.Sentence = sentence(r, m.held.behind(r.Pieces, answer, m.windowOf(k)))
	return r
}

// pieces returns those of a request from its arrival to its receipt, from those of its
// window: what was queue while the load generator had not sent it is the generator's, and
// so is what it lay there unread.
func (m *matcher) pieces(answer *load.Answer, kept []stall.Piece) []stall.Piece {
	var all []stall.Piece
	add := func(from, to stall.Instant, p stall.Part) {
		to = min(to, answer.Receipt) // a client may have the answer before its handler returns
		if n := len(all); n > 0 && all[n-1].Part == p {
			all[n-1].End = max(all[n-1].End, to)
		} else if from < to {
			all = append(all, stall.Piece{Start: from, End: to, Part: p})
		}
	}
	late := answer.Late()
	for _, p := range kept {
		in := late.Clip(stall.Span{Start: p.Start, End: p.End})
		if p.Part != stall.Part(stall.Queue) || in.Empty() {
			add(p.Start, p.End, p.Part)
			continue
		}
		add(p.Start, in.Start, p.Part)
		add(in.Start, in.End, strip.Generator)
		add(in.End, p.End, p.Part)
	}
	end := kept[len(kept)-1].End
	if back := (stall.Span{Start: end, End: max(end, answer.Back())}); !back.Empty() {
		way := m.way(back)
		for _, p := range m.joiner.Pieces(nil, way, &stall.Evidence{Process: m.near, Host: m.host}) {
			add(p.Start, p.End, p.Part)
		}
		end = back.End
	}
	add(end, answer.Receipt, strip.Generator)
	return all
}

// sentence says where the time of a request went, and how much of it, at most, the request
// waited behind others that the collector held up: one of these had the P, or the CPU.
func sentence(r *strip.Request, behind time.Duration) string {
	var s stall.Share
	var generator time.Duration
	for _, t := range r.Times() {
		if t.Part == strip.Generator {
			generator = t.Time
			continue
		}
		*s.Of(t.Part) += t.Time
		s.Total += t.Time
	}
	s.Fidelity = stall.Exact
	text := s.Explain()
	if generator > 0 {
		text += "; the load generator had " + stall.Humane(generator) + " more"
	}
	if r.Coarse {
		text += "; of its very many short pieces these are sums of stretches, each under what had most of it"
	}
	if behind >= r.Span().Duration()/20 {
		text += "; for " + stall.Humane(behind) + " of it, at most, it waited behind another slow request that the collector held up"
	}
	return text + "."
}
