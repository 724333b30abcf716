package stall_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

func TestUnion(t *testing.T) {
	for name, tt := range map[string]struct{ spans, want []stall.Span }{
		"none":                       {nil, nil},
		"out of order":               {[]stall.Span{{50, 60}, {10, 20}}, []stall.Span{{10, 20}, {50, 60}}},
		"overlap":                    {[]stall.Span{{10, 20}, {15, 30}}, []stall.Span{{10, 30}}},
		"touch":                      {[]stall.Span{{10, 20}, {20, 30}}, []stall.Span{{10, 30}}},
		"within":                     {[]stall.Span{{10, 40}, {15, 20}, {35, 38}}, []stall.Span{{10, 40}}},
		"empty, alone and in others": {[]stall.Span{{5, 5}, {10, 20}, {12, 12}, {25, 22}}, []stall.Span{{10, 20}}},
	} {
		got := stall.Union(slices.Clone(tt.spans))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(tt.want, got))
		}
	}
}
