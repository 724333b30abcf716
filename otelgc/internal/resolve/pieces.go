package resolve

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	// MaxPieces bounds the pieces of a window. A goroutine that yields in a loop makes a
	// thousand in a millisecond.
	MaxPieces = 2048
	// leastPieces is what a window that lasts must have room for, to have any.
	leastPieces = 64
	// maxHeld bounds those of all windows that last, which are 24 bytes each.
	maxHeld = 64 * MaxPieces
)

// Pieces are the stretches of a window in order, without a gap between them.
type Pieces struct {
	List []stall.Piece
	// Coarse says that there were too many: short ones are summed up, each stretch of
	// them under the part that has most of it. The share has the exact sums.
	Coarse bool

	none bool // there is no room for them
}

func (p *Pieces) reset() { p.List, p.Coarse, p.none = p.List[:0], false, false }

// add adds those of w, which goes on where the list ends. There is room for so many.
func (p *Pieces) add(j *stall.Joiner, w *stall.Window, e *stall.Evidence, room int) {
	if p.none {
		return
	}
	if p.List = j.Pieces(p.List, w, e); len(p.List) <= room {
		return
	}
	if p.none = room < leastPieces; p.none {
		p.List = nil
		return
	}
	p.coarsen(room)
}

// coarsen leaves at most so many pieces. Those that are long stay as they are: there are
// at most a quarter as many of them. Between them, and wherever short ones sum to as much,
// a stretch of short ones becomes one piece.
func (p *Pieces) coarsen(most int) {
	list := p.List
	long := 4 * list[len(list)-1].End.Sub(list[0].Start) / time.Duration(most)
	p.List, p.Coarse = list[:0], true
	var sums [stall.NumParts]time.Duration
	stretch := stall.Piece{}
	end := func() {
		if stretch.End > stretch.Start {
			p.List = append(p.List, stretch)
		}
		clear(sums[:])
	}
	for _, v := range list {
		d := v.End.Sub(v.Start)
		if d >= long {
			end()
			p.List = append(p.List, v)
			stretch = stall.Piece{Start: v.End, End: v.End}
			continue
		}
		if stretch.End == stretch.Start {
			stretch = stall.Piece{Start: v.Start, End: v.Start, Part: v.Part}
		}
		stretch.End = v.End
		if sums[v.Part] += d; sums[v.Part] > sums[stretch.Part] {
			stretch.Part = v.Part
		}
		if stretch.End.Sub(stretch.Start) >= long {
			end()
			stretch = stall.Piece{Start: v.End, End: v.End}
		}
	}
	end()
}
