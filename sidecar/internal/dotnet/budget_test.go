package dotnet

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

// TestShares: the group that has most gives back, by that of its streams which has
// most, and nobody else.
func TestShares(t *testing.T) {
	now := stall.Instant(1)
	b := NewBudget(func() stall.Instant { return now }, 40<<20) // 10 MiB for streams
	shares := map[string]*share{}
	for _, name := range []string{"a1", "a2", "a3", "b1"} {
		shares[name] = b.join(name[:1])
	}
	over := func() (names []string) {
		for _, name := range []string{"a1", "a2", "a3", "b1"} {
			if err := shares[name].use(shares[name].known, 0); err != nil {
				if !errors.Is(err, ErrDetached) {
					t.Errorf("%s: got %v", name, err)
				}
				names = append(names, name)
			}
		}
		return names
	}
	// A group that is alone may use all.
	if err := shares["b1"].use(9<<20, 0); err != nil {
		t.Fatal(err)
	}
	if err := shares["b1"].use(4<<20, 0); err != nil {
		t.Fatal(err)
	}
	// One of b has the most of all streams, and is not of the group that has.
	for _, name := range []string{"a1", "a2", "a3"} {
		held := 2 << 20
		if name == "a2" {
			held = 3 << 20
		}
		_ = shares[name].use(held, 0)
	}
	if diff := cmp.Diff([]string{"a2"}, over()); diff != "" {
		t.Errorf("detached (-want +got):\n%s", diff)
	}
	// What it has counts no longer.
	shares["a2"].leave()
	if err := shares["a1"].use(3<<20, 0); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a2"}, over()); diff != "" {
		t.Errorf("detached after that (-want +got):\n%s", diff)
	}
}

// TestWork: an honest stream that is busy never runs out; one that takes all the
// time does, and what it took is forgotten in time.
func TestWork(t *testing.T) {
	now := stall.Instant(1)
	b := NewBudget(func() stall.Instant { return now }, 0)
	busy, flood := b.join("busy"), b.join("flood")
	// 1000 collections and 1200 stops in a second, by 11 events each, in blocks
	// of every 100 ms.
	second := 1000*11*(stepWork+100*byteWork) + 2200*recordWork + 20*readWork
	turns := 0
	for range 300 {
		now = now.Add(time.Second)
		if err := busy.use(100<<10, second); err != nil {
			t.Fatalf("a busy stream: %v", err)
		}
		if err := flood.use(100<<10, time.Second); err != nil {
			turns++
			flood.leave()
			flood = b.join("flood")
		}
	}
	if turns < 30 || turns > 60 {
		t.Errorf("a stream that takes a whole CPU ended %d times in 300 s, want one in some 7 s", turns)
	}
	// 16 MB of small events at once, as after a time without a CPU.
	late := b.join("late")
	now = now.Add(time.Minute)
	if err := late.use(4<<20, 16<<20*byteWork+(16<<20)/40*stepWork); err != nil {
		t.Errorf("a stream that catches up: %v", err)
	}
}

// TestMany: 64 streams of one group take nothing from one of another, however much
// each wants.
func TestMany(t *testing.T) {
	now := stall.Instant(1)
	b := NewBudget(func() stall.Instant { return now }, 96<<20)
	honest := b.join("honest")
	fakes := make([]*share, 63)
	for i := range fakes {
		fakes[i] = b.join("fake")
	}
	ended := 0
	for round := range 100 {
		now = now.Add(100 * time.Millisecond)
		for i, f := range fakes {
			if f.use(12<<20, time.Second) != nil {
				ended++
				f.leave()
				fakes[i] = b.join("fake")
			}
		}
		if err := honest.use(2<<20, 2*time.Millisecond); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if ended == 0 {
		t.Error("no fake was detached")
	}
}
