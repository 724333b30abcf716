package spin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFullRingKeepsTheOldestAndCountsTheRest(t *testing.T) {
	r := NewRing(new(Control), make([]Record, 16))
	for i := range uint64(20) {
		r.Push(Record{From: 100 * i, To: 100*i + i})
	}
	p := r.Pulse()
	want := Pulse{Head: 16, Drops: 4, DropTicks: 16 + 17 + 18 + 19, DropMax: 19}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("pulse (-want +got):\n%s", diff)
	}
	var got []uint64
	r.Drain(p.Head, func(rec Record) { got = append(got, rec.To-rec.From) })
	if len(got) != 16 || got[0] != 0 || got[15] != 15 {
		t.Errorf("records: got lengths %v, want 0 to 15", got)
	}
	r.Push(Record{From: Door | 5, To: 7})
	got = nil
	r.Drain(r.Pulse().Head, func(rec Record) { got = append(got, rec.To-rec.From&^Door) })
	if diff := cmp.Diff([]uint64{2}, got); diff != "" {
		t.Errorf("after a drain (-want +got):\n%s", diff)
	}
}

// Every record is drained once, in order, or counted as dropped.
func TestProducerAndConsumerRace(t *testing.T) {
	const total = 200_000
	r := NewRing(new(Control), make([]Record, 64))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range uint64(total) {
			r.Push(Record{From: i, To: i + 1})
		}
	}()
	seen, next := uint64(0), uint64(0)
	take := func() {
		r.Drain(r.Pulse().Head, func(rec Record) {
			if rec.From < next || rec.To != rec.From+1 {
				t.Errorf("record %+v after %d", rec, next)
			}
			next = rec.To
			seen++
		})
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		take()
	}
	if drops := r.Pulse().Drops; seen+drops != total {
		t.Errorf("seen %d, dropped %d; want %d in all", seen, drops, total)
	}
}
