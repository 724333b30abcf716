package perf

import "testing"

// BenchmarkRead reads four samples of a tracepoint, which is what an interrupt
// leaves.
func BenchmarkRead(b *testing.B) {
	a, n := newArea(4096, 0), 0
	for range 4 {
		a.write(sample(3, 300, make([]byte, 20)))
	}
	b.ReportAllocs()
	for b.Loop() {
		*a.tail = 0
		if a.Read(func(r *Record) { n += int(r.Event) }) {
			b.Fatal("records are missing")
		}
	}
	if want := b.N * 4 * 3; n != want {
		b.Errorf("sum of events: got %d, want %d", n, want)
	}
}
