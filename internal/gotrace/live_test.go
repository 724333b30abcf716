package gotrace_test

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

// TestTrickle reads a stream that comes byte by byte, as a live one may.
func TestTrickle(t *testing.T) {
	data := capture(t)
	want := summary(t, data)
	for name, stream := range map[string]io.Reader{
		"one byte":          iotest.OneByteReader(bytes.NewReader(data)),
		"half":              iotest.HalfReader(bytes.NewReader(data)),
		"data with the end": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := gotrace.NewReader(stream, gotrace.Options{MarkPrefix: gotracetest.MarkPrefix})
			if err != nil {
				t.Fatal(err)
			}
			g, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			got := counts{len(g.Stops), len(g.Cycles), len(g.Ranges), len(g.Tracks), g.Start}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(counts{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if r.Offset() != int64(len(data)) {
				t.Errorf("read %d bytes for the generation, want all %d and no more waited for", r.Offset(), len(data))
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("got %v, want the end", err)
			}
		})
	}
}
