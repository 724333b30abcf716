package board

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/otelgc/otelgc/stall"
)

func TestWatchedGoesThrough(t *testing.T) {
	path := testPath(t)
	w := create(t, path)
	v := stall.Interval{
		Start: 1e9, End: 2e9, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1,
		Owner: stall.Owner{PID: 77, Created: 123456},
	}
	if !Watched(&v) {
		t.Fatal("the watch of a process is not one")
	}
	if err := w.Append(v); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*stall.Interval){
		"of nobody":      func(v *stall.Interval) { v.Owner.PID = 0 },
		"of a probe":     func(v *stall.Interval) { v.Origin = stall.ProbeSpin },
		"of the machine": func(v *stall.Interval) { v.Scope = stall.ScopeMachine },
		"backward":       func(v *stall.Interval) { v.End = v.Start - 1 },
	} {
		bad := v
		spoil(&bad)
		if err := w.Append(bad); err == nil {
			t.Errorf("a watch %s: no error", name)
		}
	}
	w.Advance(2e9, 0, 0)
	got, _, err := open(t, path).Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]stall.Interval{v}, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}
