package board

import (
	"path/filepath"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

// perAdvance is how many gaps a busy machine has in the quarter of a second
// between two calls of Advance.
const perAdvance = 500

// BenchmarkAppend writes a record, and reads it as a service does.
func BenchmarkAppend(b *testing.B) {
	path := filepath.Join(b.TempDir(), "board")
	w, err := Create(WriterOptions{Paths: []string{path}, Source: stall.ProbeSpin})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for _, with := range []struct {
		name string
		read bool
	}{{"write", false}, {"write and read", true}} {
		b.Run(with.name, func(b *testing.B) {
			r, err := Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			var got []stall.Interval
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := w.Append(gap(i)); err != nil {
					b.Fatal(err)
				}
				if i%perAdvance != perAdvance-1 {
					continue
				}
				w.Advance(gap(i).End, 0, 0)
				if !with.read {
					continue
				}
				if got, _, err = r.Read(got[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
