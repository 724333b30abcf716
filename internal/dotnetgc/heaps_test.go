package dotnetgc_test

import (
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestServer has a background collection of two heaps whose histories come
// after its end, on other threads, and after the next collection has begun.
func TestServer(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.suspend(20, 1000, dotnetgc.ForGC)
		s.suspended(20, 1002)
		s.start(21, 1003, 8, 2, 1, dotnetgc.BackgroundGC)
		s.restart(20, 1010)
		s.restarted(20, 1011)
		s.stop(20, 1100, 1110, dotnetgc.ForGCPrep)
		s.end(22, 1200, 8, 2)
		s.stats(22, 1201, 200)
		s.suspend(20, 1220, dotnetgc.ForGC)
		s.suspended(20, 1221)
		s.start(21, 1222, 9, 0, 0, dotnetgc.NonConcurrentGC)
		s.global(23, 1230, 2, 2, concurrent)
		s.heap(23, 1231, 1, 100)
		s.heap(23, 1232, 0, 300)
		s.global(24, 1240, 2, 0, blocking)
		s.heap(24, 1241, 0, 1)
		s.heap(24, 1242, 1, 2)
		s.end(21, 1250, 9, 0)
		s.stats(21, 1251, 100)
		s.restart(20, 1260)
		s.restarted(20, 1261)
		out, stats := s.play(t)
		clean(t, out, stats)
		check(t, []facts{
			{8, "background", 2, [][3]stall.Instant{{s.at(1000), s.at(1010), s.at(1011)}, {s.at(1100), s.at(1110), s.at(1111)}}, 2,
				s.at(1011).Sub(s.at(1000)) + s.at(1111).Sub(s.at(1100)), ""},
			{9, "ephemeral", 0, [][3]stall.Instant{{s.at(1220), s.at(1260), s.at(1261)}}, 1, s.at(1261).Sub(s.at(1220)), ""},
		}, out)
		for _, c := range out.Collections {
			want := map[uint64]gc.Bytes{8: 5*400 + 200, 9: 5*3 + 200}[c.Index]
			if c.Heaps != 2 || c.HeapBefore.Or(0) != want {
				t.Errorf("collection %d: %d heaps of %d bytes, want 2 of %d", c.Index, c.Heaps, c.HeapBefore.Or(0), want)
			}
		}
	})
}

// TestManyHeaps has a collection of as many heaps as there can be, whose
// histories come in no order, and provisional mode on top: a second collection
// in the same stop, told by the thread that was the last to be done.
func TestManyHeaps(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		const heaps = 1024
		at := uint64(2000)
		s.suspend(20, 1000, dotnetgc.ForGC)
		s.suspended(20, 1002)
		for number := uint32(1); number <= 2; number++ {
			thread := uint64(20 + number)
			reason := dotnetgc.Reason(0)
			if number == 2 {
				reason = dotnetgc.PMFullGC
			}
			s.start(thread, at, number, number, reason, dotnetgc.NonConcurrentGC)
			s.global(thread, at+1, heaps, number, blocking)
			for h := range uint32(heaps) {
				s.heap(thread, at+2+uint64(h), (h*7+3)%heaps, uint64(h))
			}
			at += 2000
			s.end(thread, at, number, number)
			s.stats(thread, at+1, 50)
			at += 10
		}
		s.restart(20, at)
		s.restarted(20, at+1)
		out, stats := s.play(t)
		clean(t, out, stats)
		if len(out.Collections) != 2 {
			t.Fatalf("got %d collections", len(out.Collections))
		}
		for _, c := range out.Collections {
			// Of generation g, each heap h had h+10*g.
			if want := gc.Bytes(5*heaps*(heaps-1)/2 + 100*heaps); c.Heaps != heaps || c.HeapBefore.Or(0) != want || c.Incomplete != "" {
				t.Errorf("collection %d: %d heaps of %d bytes, %q, want %d of %d", c.Index, c.Heaps, c.HeapBefore.Or(0), c.Incomplete, heaps, want)
			}
		}
		if first, second := out.Collections[0].Pauses, out.Collections[1].Pauses; len(first) != 1 || len(second) != 1 || first[0].End != second[0].Start {
			t.Errorf("pauses %v and %v, want one after the other", first, second)
		}
	})
}
