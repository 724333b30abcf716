package nettrace_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestMutations changes, drops and repeats bytes of streams, and holds what
// comes out to the contract of FuzzReader, which changes most streams in their
// head only.
func TestMutations(t *testing.T) {
	streams := [][]byte{capture(t, "collect5")}
	for _, name := range []string{"4 compressed", "4 plain", "5 compressed", "6 compressed", "6 plain"} {
		streams = append(streams, synthetic(formats[name]))
	}
	for i, stream := range streams {
		for seed := range uint64(300) {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			b := bytes.Clone(stream)
			for range 1 + random.IntN(4) {
				at := 70 + random.IntN(len(b)-70)
				switch random.IntN(4) {
				case 0:
					b[at] ^= 1 << random.IntN(8)
				case 1:
					b[at] = byte(random.IntN(256))
				case 2:
					b = append(b[:at], b[min(len(b), at+random.IntN(8)):]...)
				case 3:
					from := max(0, at-random.IntN(200))
					b = append(b[:at:at], b[from:]...)
				}
			}
			fuzzRead(t, bytes.NewReader(b), len(b))
			if t.Failed() {
				t.Fatalf("stream %d, seed %d", i, seed)
			}
		}
	}
}
