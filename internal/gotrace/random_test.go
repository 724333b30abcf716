package gotrace_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
)

// TestRandomTraces holds the decoder to the contract of FuzzReader with traces
// whose bytes are what the format allows and whose events make no sense: a
// fuzzer that changes bytes rarely gets past the frames.
func TestRandomTraces(t *testing.T) {
	r, err := gotrace.NewReader(bytes.NewReader(capture(t)), gotrace.Options{Limits: fuzzLimits, MarkPrefix: "o", Tasks: true})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(500) {
		if err := r.Reset(bytes.NewReader(randomTrace(rand.New(rand.NewPCG(seed, 1))))); err != nil {
			t.Fatal(err)
		}
		for g := range uint64(4) {
			r.Follow(g)
		}
		for {
			g, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			checkGeneration(t, g)
		}
	}
}

// timedArgs is the number of arguments of the events of a thread, by their type,
// from tracev2.EvProcsChange on.
var timedArgs = [...]int{
	3, 3, 1, 4, 3, // Ps
	4, 2, 3, 1, 1, 3, 3, 4, 3, 1, 1, 4, // goroutines
	3, 1, 2, 3, 2, 2, 2, 3, 2, 2, 1, 2, 2, // stops, collections
	2, 5, 3, 4, 4, 5, // annotations, the last of Go 1.22
	3, 3, 4, 5, // coroutines, EvGoStatusStack
}

const firstTimed, lastOfGo122 = 9, 44

func randomTrace(r *rand.Rand) []byte {
	version := []string{"22", "23", "25", "26"}[r.IntN(4)]
	out := []byte("go 1." + version + " trace\x00\x00\x00")
	batch := func(gen, thread uint64, data []byte) {
		out = append(out, 1)
		for _, v := range []uint64{gen, thread, r.Uint64N(1000), uint64(len(data))} {
			out = binary.AppendUvarint(out, v)
		}
		out = append(out, data...)
	}
	for gen := range r.Uint64N(4) {
		sync := []byte{50}
		if version < "25" {
			sync = nil
		}
		sync = binary.AppendUvarint(append(sync, 8), []uint64{1e9, 15625000, 1, 3, 1 << 62}[r.IntN(5)])
		if version >= "25" {
			sync = append(sync, 51)
			for range 4 {
				sync = binary.AppendUvarint(sync, r.Uint64N(1e12)>>r.IntN(40))
			}
		}
		batch(gen+1, 1<<64-1, sync)
		for range r.IntN(12) {
			batch(gen+1, []uint64{0, 1, 2, 3, 1<<64 - 1}[r.IntN(5)], randomEvents(r, version == "22"))
		}
		strings := []byte{4}
		for i, s := range []string{"otelgc/x", "GC sweep termination", "GC (dedicated)", "GC (idle)", "chan"} {
			strings = append(append(strings, 5, byte(i), byte(len(s))), s...)
		}
		batch(gen+1, 0, strings)
		batch(gen+1, 0, []byte{2, 3, 1, 2, 1, 1, 1, 1, 2, 2, 2, 2, 3, 2, 0})
		if version == "26" {
			out = append(out, 52)
		}
	}
	return out
}

func randomEvents(r *rand.Rand, old bool) (data []byte) {
	for range r.IntN(300) {
		typ := firstTimed + r.IntN(len(timedArgs))
		if old {
			typ = min(typ, lastOfGo122)
		}
		data = append(data, byte(typ))
		for range timedArgs[typ-firstTimed] {
			v := r.Uint64N(6)
			if r.IntN(200) == 0 {
				v = r.Uint64() >> r.IntN(64)
			}
			data = binary.AppendUvarint(data, v)
		}
	}
	return data
}
