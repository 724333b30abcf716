package page

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/latency"
	"github.com/otelgc/otelgc/stall"
)

// seen has a history see a request that ends at an instant.
func seen(h *history, end stall.Instant, took time.Duration, pieces int) {
	r := &entry.Request{
		Window: &stall.Window{Start: end.Add(-took), End: end}, Share: &stall.Share{Total: took, App: took},
	}
	if h.WantsPieces(took, end) {
		r.Pieces = make([]stall.Piece, pieces)
	}
	h.See(r)
}

// TestHistoryForgets what is older than a quarter of an hour, and keeps the slowest of each
// minute.
func TestHistoryForgets(t *testing.T) {
	h := newHistory()
	const begin = 1000 * oneMinute
	for i := range stall.Instant(60 * 30) { // one a second for half an hour
		seen(h, begin+i*stall.Instant(time.Second), time.Duration(1+i%60)*time.Millisecond, 3)
	}
	now := begin + 30*oneMinute - 1
	if _, n := h.bins(now); n != 60*minutes {
		t.Errorf("%d requests are kept, want those of %d minutes", n, minutes)
	}
	list := h.slowest(now)
	if len(list) != keptSlowest*minutes {
		t.Errorf("%d slow requests are kept, want %d", len(list), keptSlowest*minutes)
	}
	for i, q := range list {
		if want := time.Duration(60-i/minutes) * time.Millisecond; q.share.Total != want || len(q.pieces) != 3 {
			t.Errorf("slowest %d took %v, with %d pieces, want %v and 3", i, q.share.Total, len(q.pieces), want)
		}
	}
	if _, n := h.bins(now + minutes*oneMinute); n != 0 {
		t.Errorf("%d requests are kept for longer than that", n)
	}
	seen(h, begin, time.Second, 1) // too late to be told from one of another quarter
	if list := h.slowest(now); list[0].share.Total == time.Second {
		t.Error("a request of half an hour ago is kept")
	}
}

// TestWantsPieces: what is among the slowest of its minute needs pieces, and what is usual.
func TestWantsPieces(t *testing.T) {
	h := newHistory()
	wants := func(took time.Duration, at stall.Instant, want bool) {
		t.Helper()
		if got := h.WantsPieces(took, at); got != want {
			t.Errorf("pieces of a request of %v at %d: got %v, want %v", took, at, got, want)
		}
	}
	wants(1, oneMinute, true)
	for i := range 10 {
		seen(h, oneMinute+stall.Instant(i), time.Duration(1000+i), 1)
	}
	wants(1005, oneMinute+10, false)
	wants(1006, oneMinute+10, true)
	wants(1001, oneMinute+10, false) // usual, but there is one
	wants(1001, oneMinute+2e9, true)
	wants(1, 2*oneMinute, true) // of the next
}

// TestBins: the bins have the time of all requests, whatever their latency.Bins are.
func TestBins(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 10, 1000, 30_000} {
		h := newHistory()
		var want time.Duration
		for range n {
			took := time.Duration(1 + random.ExpFloat64()*1e6)
			want += took
			seen(h, oneMinute, took, 0)
		}
		bins, got := h.bins(oneMinute)
		var sum time.Duration
		for i, b := range bins {
			sum += b.Time[strip.App]
			if i > 0 && (b.From != bins[i-1].To || b.Latency < bins[i-1].Latency) {
				t.Errorf("%d requests: bin %d from %v after one to %v", n, i, b.From, bins[i-1].To)
			}
		}
		if int(got) != n || bins[0].From != 0 || bins[len(bins)-1].To != 1 {
			t.Errorf("%d requests: %d in bins from %v to %v", n, got, bins[0].From, bins[len(bins)-1].To)
		}
		if off := (sum - want).Abs(); off > time.Duration(len(bins)*latency.Bins) {
			t.Errorf("%d requests of %v: the bins have %v", n, want, sum)
		}
	}
}

// BenchmarkSee is what each request costs, off its path.
func BenchmarkSee(b *testing.B) {
	h := newHistory()
	r := &entry.Request{Window: &stall.Window{}, Share: &stall.Share{Total: 1000, App: 1000}}
	for i := range stall.Instant(b.N) {
		r.Window.End = oneMinute + i
		r.Share.Total = time.Duration(1000 + i%777)
		h.WantsPieces(r.Share.Total, r.Window.End)
		h.See(r)
	}
}
