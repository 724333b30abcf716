package stall

import (
	"math"
	"testing"
	"time"
)

func TestCertain(t *testing.T) {
	for name, tt := range map[string]struct {
		slack time.Duration
		ext   Span
		want  Span
	}{
		"exact":                 {0, Span{110, 300}, Span{110, 200}},
		"all of its places":     {50, Span{50, 250}, Span{100, 200}},
		"where it is anyway":    {20, Span{110, 300}, Span{120, 180}},
		"of that, a part":       {20, Span{150, 300}, Span{150, 180}},
		"its nominal edge only": {20, Span{185, 300}, Span{}},
		"nowhere":               {50, Span{51, 300}, Span{}},
		"no slack below zero":   {-7, Span{110, 300}, Span{110, 200}},
		"slack without end":     {math.MaxInt64, Span{0, 300}, Span{}},
	} {
		v := Interval{Start: 100, End: 200, Slack: tt.slack}
		if got := v.Certain(tt.ext); got != tt.want && !(got.Empty() && tt.want.Empty()) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
