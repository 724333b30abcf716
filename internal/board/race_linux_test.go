package board

import (
	"sync"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

// Whatever the two do to each other, a reader gets every record once, in
// order, or has it counted as lost; and each is whole.
func TestReadersRaceWithTheWriter(t *testing.T) {
	const total = 20_000
	path := testPath(t)
	w := create(t, path)
	var wg sync.WaitGroup
	for range 2 {
		r := open(t, path)
		read(t, r) // from here on the reader answers for every record
		wg.Go(func() { readAll(t, r, total) })
	}
	for i := range total {
		if err := w.Append(gap(i)); err != nil {
			t.Error(err)
			break
		}
		// Often, and so rarely that records go to the file before it.
		if every := [2]int{8, 2 * maxHeld}[i/4096%2]; i%every == every-1 {
			w.Advance(gap(i).End, 0, 0)
		}
	}
	w.Advance(gap(total-1).End, 0, 0)
	wg.Wait()
}

func readAll(t *testing.T, r *Reader, total int) {
	next, lost := stall.Instant(0), uint64(0)
	var seen uint64
	for seen+lost < uint64(total) {
		got, status, err := r.Read(nil)
		if err != nil {
			t.Error(err)
			return
		}
		for _, v := range got {
			i := int(v.Start-gap(0).Start) / 10_000
			if v.Start < next || v != gap(i) {
				t.Errorf("record %+v after %d", v, next)
				return
			}
			next = v.Start + 1
		}
		seen += uint64(len(got))
		lost += status.Lost
	}
	if seen+lost != uint64(total) {
		t.Errorf("got %d records and %d lost, want %d in all", seen, lost, total)
	}
}
