package gc

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/otelgc/otelgc/stall"
)

func TestFields(t *testing.T) {
	for _, c := range []struct {
		set  Fields
		want []string
	}{
		{0, nil},
		{FieldStart, []string{"start"}},
		{FieldEnd | FieldHeapBefore, []string{"heap_before", "end"}},
		{FieldStart | FieldHeapBefore | FieldPauses | FieldEnd, []string{"start", "heap_before", "pauses", "end"}},
	} {
		if diff := cmp.Diff(c.want, c.set.Names()); diff != "" {
			t.Errorf("names of %b (-want +got):\n%s", c.set, diff)
		}
	}
	both := FieldStart | FieldPauses
	if !both.Has(FieldPauses) || !both.Has(both) || both.Has(FieldEnd) || both.Has(FieldPauses|FieldEnd) {
		t.Errorf("Has of %b is wrong", both)
	}
	if FieldEnd != 1<<(len(fieldNames)-1) {
		t.Errorf("fields without a name: %d names", len(fieldNames))
	}
}

func TestCloneSharesNothing(t *testing.T) {
	c := Collection{
		Index: 3, Pauses: []Pause{{Start: 1, End: 2}, {Start: 5, End: 9}},
		Generations: []Generation{{ID: LOH, Budget: Known(Bytes(7))}},
	}
	d := c.Clone()
	c.Pauses[0].End = 100
	c.Generations[0].ID = POH
	if got := d.Pauses[0].End; got != 2 {
		t.Errorf("end of the clone's first pause: got %d, want 2", got)
	}
	if d.Generations[0].ID != LOH {
		t.Errorf("generation of the clone: got %v, want loh", d.Generations[0].ID)
	}
	if d.Index != 3 || len(d.Pauses) != 2 {
		t.Errorf("clone: got %+v", d)
	}
	if got := (&Collection{}).Clone().Pauses; got != nil {
		t.Errorf("clone of no pauses: got %v, want nil", got)
	}
}

// TestCloneKnowsAllReferences fails when Collection gets a field that an
// assignment shares, so that Clone is not forgotten.
func TestCloneKnowsAllReferences(t *testing.T) {
	var shared []string
	var walk func(name string, typ reflect.Type)
	walk = func(name string, typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Struct:
			for f := range typ.Fields() {
				walk(name+"."+f.Name, f.Type)
			}
		case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Func, reflect.Chan:
			shared = append(shared, name)
		}
	}
	walk("Collection", reflect.TypeFor[Collection]())
	if diff := cmp.Diff([]string{"Collection.Pauses", "Collection.Generations"}, shared); diff != "" {
		t.Errorf("fields that share memory (-want +got):\n%s", diff)
	}
}

func TestPauseTotal(t *testing.T) {
	c := Collection{Pauses: []Pause{{Start: 1, End: 2}, {Start: 5, End: 9, EndMax: 20}}}
	if got := c.PauseTotal(); got != 5*time.Nanosecond {
		t.Errorf("sum of pauses: got %v, want 5ns", got)
	}
	if got := (&Collection{}).PauseTotal(); got != 0 {
		t.Errorf("sum of no pauses: got %v, want 0", got)
	}
}

func TestNames(t *testing.T) {
	got, err := json.Marshal([]any{
		NoKind, Ephemeral, Background, FullBlocking, NumKinds,
		PhaseUnknown, SweepTermination, MarkTermination, MarkTermination + 1,
		Gen0, Gen1, Gen2, LOH, POH, NumGenerations,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `["none","ephemeral","background","full_blocking","kind(4)","unknown","sweep_termination","mark_termination","phase(3)","gen0","gen1","gen2","loh","poh","generation(5)"]`
	if string(got) != want {
		t.Errorf("names: got %s, want %s", got, want)
	}
}

func TestExtent(t *testing.T) {
	pause := func(start, end stall.Instant, slack time.Duration) Pause {
		return Pause{Start: start, End: end, Slack: slack}
	}
	for name, test := range map[string]struct {
		c    Collection
		want stall.Span
	}{
		"of pauses around it":   {Collection{Start: Known(stall.Instant(100)), End: Known(stall.Instant(200)), Pauses: []Pause{pause(90, 110, 0), pause(190, 210, 0)}}, stall.Span{Start: 90, End: 210}},
		"with slack":            {Collection{End: Known(stall.Instant(200)), Pauses: []Pause{pause(150, 180, 20)}}, stall.Span{Start: 130, End: 200}},
		"of a background one":   {Collection{Start: Known(stall.Instant(100)), End: Known(stall.Instant(200)), Pauses: []Pause{pause(120, 130, 0)}}, stall.Span{Start: 100, End: 200}},
		"without a start":       {Collection{End: Known(stall.Instant(200))}, stall.Span{}},
		"of which all is known": {Collection{Start: Known(stall.Instant(100)), End: Known(stall.Instant(200))}, stall.Span{Start: 100, End: 200}},
	} {
		if got := test.c.Extent(); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
