package truth

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/stall"
)

// TestOutside: some classes, of a program that slices of its trace are taken of. The laws
// hold for every request that a slice has, and the first names are judged as from inside.
func TestOutside(t *testing.T) {
	e := outside{experiment: experiment{affected: enough, limit: time.Second, page: harness.NewPage("", "x", t.Output()), only: "compute,pause,wait,sched,gc-off"}}
	for _, c := range classes() {
		if !e.wants(c) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			failed := e.failed
			got, err := e.class(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if e.failed > failed {
				t.Skipf("%d slices failed on this machine", e.failed-failed)
			}
			if got.windows == 0 {
				t.Error("the slices have no requests")
			}
			got.judge(t)
		})
	}
}

// TestOutsideRun: the page has its parts. Figures are not tested.
func TestOutsideRun(t *testing.T) {
	var out, log bytes.Buffer
	err := Outside().Run(t.Context(), strings.Fields("-affected 1 -limit 1ms -only compute"), &out, &log)
	if err != nil && !errors.Is(err, harness.ErrUnmet) {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	for _, want := range []string{"## Truth by injection, from outside", "| compute | requests that", "\nOf ", " slices have "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// TestUnwatched: a request that was not watched from begin to end has no window, and is
// not one whose window is missing.
func TestUnwatched(t *testing.T) {
	asked := func(from, to stall.Instant) request {
		return request{Begin: [2]stall.Instant{from - 1, from + 1}, End: [2]stall.Instant{to - 1, to + 1}, Own: stall.Span{Start: from, End: to}}
	}
	seen := func(from, to stall.Instant) window {
		return window{stall.Window{Start: from, End: to}, stall.Share{Total: to.Sub(from), App: to.Sub(from)}}
	}
	c := classes()[0]
	got := newTally(c, 2)
	got.classify(&bench{
		class: c, watched: []stall.Span{{Start: 100, End: 200}, {Start: 300, End: 400}},
		record:  record{Requests: []request{asked(110, 150), asked(190, 320), asked(310, 350), asked(500, 600)}},
		windows: []window{seen(310, 350)},
	})
	if got.affected != 1 || got.right != 1 || got.unmatched != 1 || got.unwatched != 2 {
		t.Errorf("%d affected and %d right, %d without a window and %d not watched, want 1, 1, 1 and 2", got.affected, got.right, got.unmatched, got.unwatched)
	}
}
