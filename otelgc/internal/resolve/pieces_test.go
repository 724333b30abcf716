package resolve

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestCoarsen: however many pieces there are and however long, as many are left as there is
// room for. They fill the window, and the long ones are as they were.
func TestCoarsen(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const room = 100
	for _, n := range []int{room + 1, 1000, 30_000} {
		for _, most := range []time.Duration{1, 10, 1000, time.Hour} {
			var p Pieces
			at := stall.Instant(7)
			for range n {
				d := 1 + time.Duration(random.Int64N(int64(most)))
				p.List = append(p.List, stall.Piece{Start: at, End: at.Add(d), Part: stall.Part(random.IntN(int(stall.NumParts)))})
				at = at.Add(d)
			}
			kept := make(map[stall.Piece]bool)
			for _, v := range p.List {
				if v.End.Sub(v.Start) >= 4*at.Sub(7)/room {
					kept[v] = true
				}
			}
			p.coarsen(room)
			if len(p.List) > room || !p.Coarse {
				t.Errorf("%d pieces of up to %v: %d are left, coarse %v, want at most %d", n, most, len(p.List), p.Coarse, room)
			}
			end := stall.Instant(7)
			for _, v := range p.List {
				if v.Start != end || v.End <= v.Start {
					t.Fatalf("piece from %d to %d after %d", v.Start, v.End, end)
				}
				end = v.End
				delete(kept, v)
			}
			if end != at || len(kept) > 0 {
				t.Errorf("the pieces end at %d, want %d; %d long ones are gone", end, at, len(kept))
			}
		}
	}
}

// TestCoarsePart: a stretch of short pieces goes to the part that has most of it.
func TestCoarsePart(t *testing.T) {
	var p Pieces
	at := stall.Instant(0)
	add := func(d time.Duration, part stall.Part) {
		p.List = append(p.List, stall.Piece{Start: at, End: at.Add(d), Part: part})
		at = at.Add(d)
	}
	add(1000, stall.App)
	for range 100 {
		add(2, stall.Part(stall.Sched))
		add(3, stall.Part(stall.GCAssist))
	}
	add(1000, stall.Unseen)
	p.coarsen(leastPieces)
	parts := make(map[stall.Part]time.Duration)
	for _, v := range p.List {
		parts[v.Part] += v.End.Sub(v.Start)
	}
	if parts[stall.App] != 1000 || parts[stall.Part(stall.GCAssist)] != 500 || parts[stall.Unseen] != 1000 || len(parts) != 3 {
		t.Errorf("parts %v, want 1000 of the program, 500 of gc.assist, 1000 unseen", parts)
	}
}
