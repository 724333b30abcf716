package page

import (
	"cmp"
	"slices"
	"sync"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/latency"
	"github.com/otelgc/otelgc/stall"
)

const (
	minutes = 15 // that are kept
	// keptSlowest is how many of the slowest requests of a minute are kept with their
	// pieces, of which there are at most 2048 each.
	keptSlowest = 4
)

// history has the requests of the last minutes: their time by latency and owner, and the
// slowest. It is an [entry.Observer].
type history struct {
	mu    sync.Mutex
	kept  [minutes]minute
	last  uint64 // number of the last request that was kept
	usual latency.Usual
}

func newHistory() *history { return new(history) }

// minute is the requests that ended in one minute of the shared clock.
type minute struct {
	of      stall.Instant // its beginning
	sums    [latency.Bins]sum
	slowest []request // the slowest first
}

// sum is the requests of one range of latency.
type sum struct {
	n    uint64
	time [strip.NumGroups]time.Duration
}

// request is one of the slowest.
type request struct {
	id       uint64
	span     stall.Span
	share    stall.Share
	pieces   []stall.Piece
	coarse   bool // as in entry.Request
	route    string
	trace    oteltrace.SpanContext
	captured *entry.Captured // nil if it is not to be
}

const oneMinute = stall.Instant(time.Minute)

// at returns the minute of an instant, which it begins if it is new; nil if it is over.
func (h *history) at(t stall.Instant) *minute {
	of := t - t%oneMinute
	m := &h.kept[of/oneMinute%minutes]
	switch {
	case of > m.of:
		*m = minute{of: of}
	case of < m.of:
		return nil
	}
	return m
}

// WantsPieces implements [entry.Observer]: a request that is neither among the slowest of its
// minute nor usual needs no pieces.
func (h *history) WantsPieces(took time.Duration, at stall.Instant) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	newest := &h.kept[0]
	for i := range h.kept {
		if h.kept[i].of > newest.of {
			newest = &h.kept[i]
		}
	}
	return at >= newest.of+oneMinute || len(newest.slowest) < keptSlowest || took >= newest.slowest[keptSlowest-1].share.Total || h.usual.Wants(took, at)
}

// See implements [entry.Observer].
func (h *history) See(r *entry.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.usual.See(r)
	m := h.at(r.Window.End)
	if m == nil {
		return
	}
	s := &m.sums[latency.Bin(r.Share.Total)]
	s.n++
	for p := range stall.NumParts {
		s.time[strip.GroupOf(p)] += *r.Share.Of(p)
	}
	at, _ := slices.BinarySearchFunc(m.slowest, r.Share.Total, func(q request, d time.Duration) int { return cmp.Compare(d, q.share.Total) })
	if at == keptSlowest {
		return
	}
	h.last++
	kept := request{
		id: h.last, span: r.Window.Extent(), share: *r.Share, route: r.Route, trace: r.Span,
		pieces: slices.Clone(r.Pieces), coarse: r.Coarse, captured: r.Captured,
	}
	m.slowest = slices.Insert(m.slowest, at, kept)
	m.slowest = m.slowest[:min(len(m.slowest), keptSlowest)]
}

// median returns a request that took about as long as the median, nil if none is known.
func (h *history) median() *strip.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.usual.Median()
}

// recent calls f with each minute that lies in the quarter of an hour before now.
func (h *history) recent(now stall.Instant, f func(*minute)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.kept {
		if m := &h.kept[i]; m.of > 0 && m.of+minutes*oneMinute > now {
			f(m)
		}
	}
}

// slowest returns the slowest requests, the slowest first.
func (h *history) slowest(now stall.Instant) (list []request) {
	h.recent(now, func(m *minute) { list = append(list, m.slowest...) })
	slices.SortStableFunc(list, func(a, b request) int { return cmp.Compare(b.share.Total, a.share.Total) })
	return list
}

// bins returns where the time went, by percentile, and how many requests there were. Of a
// range of latency that lies across an edge, each side has its part.
func (h *history) bins(now stall.Instant) (bins []strip.Bin, n uint64) {
	var sums [latency.Bins]sum
	h.recent(now, func(m *minute) {
		for i := range m.sums {
			s := &m.sums[i]
			n += s.n
			sums[i].n += s.n
			for g := range s.time {
				sums[i].time[g] += s.time[g]
			}
		}
	})
	if n == 0 {
		return nil, 0
	}
	slowest := h.slowest(now)[0].share.Total
	edges := strip.Edges(int(n))
	before, k := 0.0, 0 // the rank at which a range begins
	for i := range sums {
		s := &sums[i]
		end := before + float64(s.n)
		for from := before; from < end; {
			if len(bins) == 0 || from >= edges[k+1]*float64(n) && k+2 < len(edges) {
				if len(bins) > 0 {
					k++
				}
				bins = append(bins, strip.Bin{From: edges[k], To: edges[k+1]})
			}
			b := &bins[len(bins)-1]
			to := end
			if k+2 < len(edges) {
				to = min(end, edges[k+1]*float64(n))
			}
			for g := range s.time {
				b.Time[g] += time.Duration(float64(s.time[g]) * (to - from) / float64(s.n))
			}
			b.Latency = min(latency.UpTo(i), slowest)
			if from = to; to <= before { // rounding
				break
			}
		}
		before = end
	}
	return bins, n
}
