package slowed

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestTally(t *testing.T) {
	one := func(index uint64, by gc.SlowedBy, paused, taken time.Duration) *gc.Collection {
		during := gc.HostDuring{CPUWait: gc.Known(taken)}
		if by == gc.Paging {
			during = gc.HostDuring{PageWait: gc.Known(taken)}
		}
		return &gc.Collection{Index: index, SlowedBy: by, Pauses: []gc.Pause{{End: stall.Instant(paused), HostDuring: during}}}
	}
	var got Tally
	got.Add(one(1, gc.NotSlowed, time.Second, 0))
	if got != (Tally{}) || got.String() != "" {
		t.Errorf("of none: got %+v, %q", got, got.String())
	}
	got.Add(one(2, gc.StolenCPU, 2*time.Millisecond, time.Millisecond))
	got.Add(one(3, gc.Paging, 4*time.Millisecond, 3*time.Millisecond))
	got.Add(one(4, gc.StolenCPU, 3*time.Millisecond, 2*time.Millisecond))
	want := "2 by stolen CPU, 1 by paging; of them paused longest: collection 3: paging: paused 4.00 ms, 3.00 ms of it waiting for pages from disk"
	if got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
	text, err := json.Marshal(&got)
	if err != nil {
		t.Fatal(err)
	}
	var back Tally
	if err := json.Unmarshal(text, &back); err != nil || back.String() != want {
		t.Errorf("through JSON: got %q, %v", back.String(), err)
	}
}
