package gc_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

var compareMaybe = cmp.Exporter(func(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Maybe[") })

// whole has every field that the form carries.
func whole() gc.Collection {
	size := func(n uint64) gc.Maybe[gc.Bytes] { return gc.Known(gc.Bytes(n)) }
	return gc.Collection{
		Index: 12, Cycles: 1, Fidelity: stall.Exact, Kind: gc.FullBlocking, Generation: gc.Known(2), Trigger: "AllocLarge", TriggerSite: "main.f",
		Start: gc.Known(stall.Instant(100)), End: gc.Known(stall.Instant(900)),
		Pauses: []gc.Pause{
			{Start: 90, End: 910, EndMax: 1000, Suspend: gc.Known(5 * time.Nanosecond), Phase: gc.SweepTermination,
				HostDuring: gc.HostDuring{Stolen: gc.Known(time.Duration(3)), Over: gc.Known(time.Second), CPUWait: gc.Known(time.Duration(0)), PageWait: gc.Known(time.Duration(4))}},
			{Start: 950, End: 960, EndMax: 960, Slack: 7, Phase: gc.PhaseUnknown},
		},
		Promoted: size(1), HeapBefore: size(2), HeapAfter: size(0), FragmentationBefore: size(4), FragmentationAfter: size(5), Goal: size(6),
		CPU:              gc.CPU{Assist: gc.Known(time.Second), Dedicated: gc.Known(time.Minute), Idle: gc.Known(time.Hour), Pause: gc.Known(time.Duration(0)), Total: gc.Known(time.Duration(7))},
		PauseUtilization: gc.Known(0.25), UtilizationSince: gc.Known(stall.Instant(3)), Compacting: gc.Known(true), Concurrent: gc.Known(false),
		Generations: []gc.Generation{
			{ID: gc.Gen0, SizeBefore: size(1), SizeAfter: size(2), FragmentationBefore: size(3), FragmentationAfter: size(4), Promoted: size(5), Survived: size(6), Budget: size(7)},
			{ID: gc.POH},
		},
		Pinned: gc.Known(uint64(0)), Finalizable: gc.Known(uint64(9)), MemoryLoad: gc.Known(0.5), Allocated: size(11), Incomplete: "half of it",
		HostDuring: gc.HostDuring{MajorFaults: gc.Known(uint64(1)), RunDelay: gc.Known(time.Second), Throttled: gc.Known(time.Duration(2))},
		UsualPause: gc.Known(time.Millisecond), SlowedBy: gc.Paging,
		Estimated: gc.FieldStart | gc.FieldPauses,
	}
}

func through(t *testing.T, in gc.Collection) (out gc.Collection) {
	t.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestThroughJSON(t *testing.T) {
	for name, want := range map[string]gc.Collection{
		"whole":   whole(),
		"nothing": {Cycles: 1, Kind: gc.Background},
	} {
		if diff := cmp.Diff(want, through(t, want), compareMaybe); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWholeIsWhole fails when Collection gets a field that this test does not
// know.
func TestWholeIsWhole(t *testing.T) {
	v := reflect.ValueOf(whole())
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; name {
		case "Origin": // not carried
		default:
			if v.Field(i).IsZero() {
				t.Errorf("field %s is zero", name)
			}
		}
	}
}

func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	text, err := json.Marshal(gc.Collection{Kind: gc.Background, Pauses: []gc.Pause{}, Cycles: 1, Trigger: gc.TriggerUnknown})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"kind":"background","pauses":[],"cycles":1}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestRefuse(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"lazy"}`: "kind",
		`{"kind":"background","pauses":[{"phase":"idle"}]}`:    "phase",
		`{"kind":"background","generations":[{"gen":"gen9"}]}`: "gen9",
		`{"kind":"background","slowed_by":"luck"}`:             "luck",
		`{"kind":"background","estimated":["all"]}`:            "all",
	} {
		if err := json.Unmarshal([]byte(text), new(gc.Collection)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one about %q", text, err, want)
		}
	}
}
