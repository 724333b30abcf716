package pacer

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestPacer: work is done in pieces with rests between them, and only the work
// is counted.
func TestPacer(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	p := New(clock)
	rests := 0
	p.Sleep = func(d time.Duration) {
		if d != shortRest {
			t.Errorf("rest of %v, want %v", d, shortRest)
		}
		rests++
	}
	begin := clock.Now()
	p.Begin()
	for rests < 20 {
		p.Breathe()
	}
	p.End()
	if all := clock.Now().Sub(begin); p.Worked > all || p.Worked < 20*leastWork {
		t.Errorf("worked %v of %v, with 20 pieces of at least %v", p.Worked, all, leastWork)
	}
}

// TestPacerPiece: who waits long for the P works longer when it has it.
func TestPacerPiece(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	p := New(clock)
	p.Sleep = func(time.Duration) { time.Sleep(workShare * longestWork) }
	for p.piece == leastWork {
		p.Breathe()
	}
	if p.piece != longestWork {
		t.Errorf("after a rest of at least %v: a piece of %v, want %v", workShare*longestWork, p.piece, longestWork)
	}
}
