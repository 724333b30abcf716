package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

func TestForCollections(t *testing.T) {
	h := &held{
		stops: []stall.Span{{Start: 100, End: 200}, {Start: 300, End: 400}},
		let:   []stall.Instant{140, 230, 510},
		spans: []stall.Span{{Start: 90, End: 150}, {Start: 110, End: 250}, {Start: 200, End: 210}, {Start: 300, End: 500}, {Start: 600, End: 700}},
	}
	want := []stall.Span{{Start: 110, End: 140}, {Start: 300, End: 500}}
	if d := cmp.Diff(want, h.forCollections()); d != "" {
		t.Errorf("began in a stop (-want +got):\n%s", d)
	}
}
