package senders

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestGravest: of collections that a process itself has counted the kind is told as
// far as it is known.
func TestGravest(t *testing.T) {
	p := Pauses{longest: 10, Off: time.Second, List: []pause{
		{Span: stall.Span{Start: 100, End: 110}, index: 1, kind: gc.FullBlocking},
		{Span: stall.Span{Start: 200, End: 205}, index: 2, kind: gc.Background},
	}}
	for s, want := range map[stall.Span]gc.Kind{
		{Start: 150, End: 300}: gc.Background, {Start: 109, End: 300}: gc.FullBlocking, {Start: 110, End: 200}: gc.NoKind,
		{Start: 300, End: 400}: gc.NoKind, {Start: 400, End: 300}: gc.NoKind,
	} {
		if got := p.Gravest(s); got != want {
			t.Errorf("%v: got %v, want %v", s, got, want)
		}
		if kind := p.Kind(s); kind != gc.NoKind {
			t.Errorf("%v: a collection of kind %v is certain, want none", s, kind)
		}
	}
}
