package latency

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/stall"
)

// TestLatencies: each latency lies in its range, and ranges are a quarter wide at most.
func TestLatencies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		d := 4 + time.Duration(random.Uint64()>>(1+random.IntN(60)))
		i := Bin(d)
		if d > UpTo(i) || d < UpTo(i)*4/5 {
			t.Fatalf("%d lies in range %d, which ends at %d", d, i, UpTo(i))
		}
	}
	if Bin(-1) != Bin(0) || Bin(1<<63-1) >= Bins {
		t.Error("a latency has no range")
	}
}

// TestUsual: the median and p99 follow the requests, and a median request is kept, a new one
// every second.
func TestUsual(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var u Usual
	if u.P99() != 0 || u.Median() != nil || u.Wants(time.Millisecond, 1) {
		t.Error("something is known of no request")
	}
	at := stall.Instant(time.Hour)
	see := func(took time.Duration) {
		at += stall.Instant(time.Millisecond)
		w := stall.Window{Start: at.Add(-took), End: at}
		r := entry.Request{Window: &w, Share: &stall.Share{Total: took, App: took}}
		if u.Wants(took, at) {
			r.Pieces = []stall.Piece{{Start: w.Start, End: w.End, Part: stall.App}}
		}
		u.See(&r)
	}
	for _, scale := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for range 700_000 { // twelve minutes
			see(time.Duration(random.Float64() * 2 * float64(scale)))
		}
		if got := u.P99(); got < scale*19/10 || got > scale*25/10 {
			t.Errorf("p99 %v, want about %v", got, 2*scale)
		}
		kept := u.Median()
		if kept == nil {
			t.Fatal("no median request is kept")
		}
		if got := kept.Span().Duration(); got < scale*3/4 || got > scale*4/3 {
			t.Errorf("the median request took %v, want about %v", got, scale)
		}
		if age := at.Sub(kept.Span().End); age > 2*time.Second {
			t.Errorf("the median request is %v old", age)
		}
	}
}

// BenchmarkUsual is what each request costs, off its path.
func BenchmarkUsual(b *testing.B) {
	var u Usual
	r := entry.Request{Window: &stall.Window{}, Share: &stall.Share{}}
	for i := range b.N {
		r.Share.Total, r.Window.End = time.Duration(1000+i%777), stall.Instant(i)
		if u.Wants(r.Share.Total, r.Window.End) {
			b.Fatal("the pieces of a request that took no second are wanted")
		}
		u.See(&r)
	}
}
