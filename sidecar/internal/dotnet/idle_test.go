package dotnet

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall"
)

// TestIdleCountsLooks: of a stream in which nothing is, all was seen up to where
// delivery may still be under way. A minute without looks, since the
// machine stood still, is no minute in which nothing came: the process stood
// still too, and delivers what it had, late.
func TestIdleCountsLooks(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	v := &view{Source: New(Options{Clock: clock})}
	v.model = dotnetgc.NewModel(nettrace.Header{}, dotnetgc.Options{})
	begin := clock.Now()
	v.began = begin
	v.cover.Attach(begin, begin)
	now := begin
	look := func(took time.Duration) {
		now = now.Add(took)
		v.idle(now)
	}
	want := func(what string, mark stall.Instant) {
		t.Helper()
		if v.cover.Mark != mark {
			t.Errorf("%s: all was seen until %v, want %v", what, v.cover.Mark.Sub(begin), mark.Sub(begin))
		}
	}
	for range 8 {
		look(readFor)
	}
	want("in step", now.Add(-deliveredIn))
	stood := now
	look(time.Minute)
	want("at once after a minute", stood.Add(readFor-deliveredIn))
	for range int(deliveredIn/readFor) - 1 {
		look(readFor)
		if v.cover.Mark > stood {
			t.Errorf("%v after a minute: all was seen until %v, want at most %v", now.Sub(stood)-time.Minute, v.cover.Mark.Sub(begin), stood.Sub(begin))
		}
	}
	look(readFor)
	want("in step again", now.Add(-deliveredIn))
}
