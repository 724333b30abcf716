package otelgc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestNoticedSamplesEachPauseOnce: what exact records bring is not in the
// buckets too.
func TestNoticedSamplesEachPauseOnce(t *testing.T) {
	buckets := func() []gcwatch.Bucket {
		return []gcwatch.Bucket{{Middle: 10e-6, Count: 2}, {Middle: 100e-6, Count: 2}}
	}
	exact := gc.Collection{Fidelity: stall.Exact, Pauses: []gc.Pause{{Start: 0, End: 15_000}, {Start: 0, End: 120_000}}}
	cycle := gc.Collection{Fidelity: stall.Cycle}
	for _, c := range []struct {
		name string
		list []*gc.Collection
		want []gcwatch.Bucket
	}{
		{"cycle", []*gc.Collection{&cycle, &cycle}, buckets()},
		{"exact", []*gc.Collection{&exact, &exact}, nil},
		{"mixed", []*gc.Collection{&exact, &cycle}, []gcwatch.Bucket{{Middle: 10e-6, Count: 1}, {Middle: 100e-6, Count: 1}}},
		{"mixed, the other way round", []*gc.Collection{&cycle, &exact}, []gcwatch.Bucket{{Middle: 10e-6, Count: 1}, {Middle: 100e-6, Count: 1}}},
	} {
		n := &noticed{left: len(c.list), buckets: buckets()}
		var got []gcwatch.Bucket
		for _, one := range c.list {
			got = append(got, n.settle(one)...)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: samples (-want +got):\n%s", c.name, diff)
		}
	}
}
