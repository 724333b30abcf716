package hostwatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestKeptSaysWhatItForgot gives more spans than are kept, one by one and at
// once: of what was forgotten nothing is known, and the rest is exact.
func TestKeptSaysWhatItForgot(t *testing.T) {
	const over = 10
	spans := make([]stall.Span, maxKept+over) // each is 1 us of 2
	for i := range spans {
		spans[i] = span(2*i, 2*i+1)
	}
	last := 2 * len(spans)
	for _, test := range []struct {
		name string
		size int // of a batch
	}{
		{"one by one", 1},
		{"in two", len(spans)/2 + 1},
		{"at once", len(spans)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var k kept
			for i := 0; i < len(spans); i += test.size {
				k.add(spans[i:min(i+test.size, len(spans))])
			}
			if len(k.spans) > maxKept {
				t.Errorf("%d spans are kept, want at most %d", len(k.spans), maxKept)
			}
			opt := cmp.AllowUnexported(gc.Maybe[time.Duration]{})
			forgot := len(spans) - len(k.spans)
			if diff := cmp.Diff(gc.Maybe[time.Duration]{}, k.in(span(2*forgot-2, last)), opt); diff != "" {
				t.Errorf("with one that was forgotten (-want +got):\n%s", diff)
			}
			want := gc.Known(time.Duration(len(k.spans)) * time.Microsecond)
			if diff := cmp.Diff(want, k.in(span(2*forgot, last)), opt); diff != "" {
				t.Errorf("all that is kept (-want +got):\n%s", diff)
			}
		})
	}
}
