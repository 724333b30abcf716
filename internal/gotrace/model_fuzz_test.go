package gotrace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"unsafe"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

// heldMost is the most that a reader may hold under limits, see Held: so much for each
// thing that a limit counts, in all lists that have it, which may have grown to twice
// what is in them; and what the constants of the package allow, pairs of coroutines
// above all.
func heldMost(l gotrace.Limits) int {
	const (
		record     = 4 << 10
		transition = 128
		followed   = 1 << 10
		thread     = 1 << 10
		name       = 80
		id         = 16
		tableByte  = 5 // of the wire, in two tables
		constant   = 16 << 20
	)
	return l.Records*record + l.Transitions*transition + l.Followed*followed + l.Threads*thread +
		(l.Names+l.Strings)*name + (l.Strings+l.Stacks)*id + l.TableBytes*tableByte + constant
}

// modelSeeds are operations that lead far: streams of collections, coroutines,
// goroutines that are new each time, tables without an end, missing generations.
func modelSeeds() [][]byte {
	return [][]byte{
		{0, 3, 1, 0, 27, 0, 0, 16, 0, 0, 14, 0, 1, 15, 0, 0, 18, 0, 0, 32, 0, 0, 4, 0, 1, 32, 0, 0},
		{1, 3, 1, 0, 27, 0, 0, 21, 0, 0, 5, 1, 5, 32, 0, 0, 6, 1, 0, 3, 1, 0, 22, 0, 0, 32, 0, 0},
		{0, 3, 1, 0, 27, 0, 0, 12, 2, 0, 12, 1, 0, 12, 2, 0, 32, 0, 0, 12, 1, 0, 33, 0, 1, 3, 1, 0},
		{0, 3, 1, 0, 27, 0, 0, 192 + 45, 2, 255, 192 + 45, 1, 255, 32, 0, 0, 192 + 12, 3, 200},
		{0, 192 + 34, 0, 255, 192 + 35, 0, 255, 192 + 36, 0, 255, 32, 0, 0, 192 + 36, 0, 255},
		{0, 192 + 38, 0, 255, 192 + 38, 1, 255, 192 + 39, 0, 255, 192 + 40, 0, 255, 192 + 40, 0, 255},
		{2, 128 + 37, 0, 9, 3, 1, 0, 26, 0, 0, 4, 0, 0, 32, 0, 0, 192 + 14, 0, 255, 192 + 16, 0, 255, 192 + 23, 1, 255, 192 + 26, 0, 255},
		{3, 192 + 41, 1, 9, 42, 1, 0, 3, 1, 0, 27, 1, 0, 41, 1, 0, 32, 0, 0, 42, 0, 0},
		{0, 3, 1, 0, 46, 1, 0, 46, 2, 1, 5, 1, 5, 32, 0, 0, 6, 1, 0, 3, 2, 0, 47, 2, 0, 47, 1, 0, 47, 1, 0},
		{0, 192 + 34, 0, 255, 192 + 48, 0, 255, 192 + 47, 0, 255, 192 + 46, 1, 255, 32, 0, 0, 192 + 48, 1, 255},
		{0, 192 + 28, 0, 255, 192 + 30, 1, 255, 192 + 14, 0, 3, 192 + 15, 0, 3, 192 + 27, 0, 255},
	}
}

// FuzzModel goes from bytes, or from operations that gotracetest.Compose makes a
// trace of, to all that a generation says, with goroutines that are followed and let
// go meanwhile, and twice with one reader. It holds the reader to the contract of
// FuzzReader, and to what it may hold in memory.
func FuzzModel(f *testing.F) {
	for _, c := range append(gotracetest.Captures(f, "testdata"), gotracetest.Captures(f, "testdata/tasks")...) {
		f.Add(false, c.Bytes)
	}
	for _, ops := range modelSeeds() {
		f.Add(true, ops)
	}
	f.Fuzz(func(t *testing.T, composed bool, data []byte) {
		steps := data
		if composed {
			data = gotracetest.Compose(data)
		}
		r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{Limits: fuzzLimits, MarkPrefix: gotracetest.MarkPrefix, Tasks: true})
		if err != nil {
			checkError(t, err, len(data))
			return
		}
		readModel(t, r, data, steps)
		if err := r.Reset(bytes.NewReader(data)); err != nil {
			t.Fatalf("the same stream again: %v", err)
		}
		readModel(t, r, data, steps)
	})
}

// readModel reads a stream to its end, following and letting go by steps.
func readModel(t *testing.T, r *gotrace.Reader, data, steps []byte) {
	t.Helper()
	for n := 0; ; n++ {
		g, err := r.Next()
		if (g == nil) == (err == nil) {
			t.Fatalf("got generation %v and error %v, want one of them", g, err)
		}
		if held, most := r.Held(), heldMost(fuzzLimits); held > most {
			t.Fatalf("the reader holds %d bytes, the most under its limits is %d", held, most)
		}
		if err != nil {
			checkError(t, err, len(data))
			return
		}
		checkGeneration(t, g)
		if n < len(steps) {
			r.Follow(uint64(steps[n] % 64))
			r.Unfollow(uint64(steps[n] / 4))
		}
	}
}

// TestHeldIsBounded reads every seed of FuzzModel, and what was found by it, and
// counts the heap of the runtime, too: what a reader keeps is under the most of its
// limits, however it is counted.
func TestHeldIsBounded(t *testing.T) {
	var streams [][]byte
	for _, c := range gotracetest.Captures(t, "testdata") {
		streams = append(streams, c.Bytes)
	}
	for _, ops := range modelSeeds() {
		streams = append(streams, gotracetest.Compose(ops))
	}
	most := uint64(heldMost(fuzzLimits))
	for i, data := range streams {
		before := heap()
		r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{Limits: fuzzLimits, MarkPrefix: gotracetest.MarkPrefix, Tasks: true})
		if err != nil {
			t.Fatal(err)
		}
		readModel(t, r, data, nil)
		if after := heap(); after > before+most {
			t.Errorf("stream %d of %d bytes: the heap grew by %d bytes, the most is %d", i, len(data), after-before, most)
		}
		runtime.KeepAlive(r)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSeedsReachDeepStates: the operations of the seeds lead to what the fuzzer is to
// begin from.
func TestSeedsReachDeepStates(t *testing.T) {
	var stops, cycles, cut, tracks, turns, workers, tasks, lost int
	for _, ops := range modelSeeds() {
		o := gotrace.Options{Limits: fuzzLimits, MarkPrefix: gotracetest.MarkPrefix, Tasks: true}
		err := all(t, gotracetest.Compose(ops), o, func(_ *gotrace.Reader, g *gotrace.Generation) {
			stops, cycles, tracks, turns, workers = stops+len(g.Stops), cycles+len(g.Cycles), tracks+len(g.Tracks), turns+len(g.Turns), workers+len(g.Workers)
			tasks += len(g.Tasks)
			for _, r := range g.Ranges {
				if r.Cut {
					cut++
				}
			}
			if g.Truncated {
				lost++
			}
		})
		if err != nil && !errors.Is(err, gotrace.ErrLimit) {
			t.Errorf("operations %v: %v", ops, err)
		}
	}
	if min(stops, cycles, cut, tracks, turns, workers, tasks, lost) == 0 {
		t.Errorf("%d stops, %d cycles, %d ranges cut, %d tracks, %d turns, %d workers, %d tasks, %d generations over a limit, want some of each",
			stops, cycles, cut, tracks, turns, workers, tasks, lost)
	}
}

// batches is a stream of one generation that does not end, of batches that hold data.
type batches struct{ batch, left []byte }

func newBatches(data []byte) *batches {
	batch := []byte{1, 1, 0, 0}
	batch = append(binary.AppendUvarint(batch, uint64(len(data))), data...)
	return &batches{batch: batch, left: []byte("go 1.26 trace\x00\x00\x00")}
}

func (b *batches) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(b.left) == 0 {
			b.left = b.batch
		}
		k := copy(p[n:], b.left)
		b.left, n = b.left[k:], n+k
	}
	return n, nil
}

// TestSmallBatchesAreBounded: a batch has a head on the wire, and a table a note of
// each batch. What is in it says nothing of either.
func TestSmallBatchesAreBounded(t *testing.T) {
	limits := gotrace.Limits{GenerationBytes: 8 << 20, TableBytes: 1 << 16, Records: 1, Transitions: 1, Followed: 1, Threads: 1, Names: 1, Strings: 1, Stacks: 1}
	for name, data := range map[string][]byte{"empty": nil, "a table of strings": {4}, "a table of stacks": {2}, "samples": {6}} {
		t.Run(name, func(t *testing.T) {
			r, err := gotrace.NewReader(io.LimitReader(newBatches(data), 1<<30), gotrace.Options{Limits: limits})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Next(); !errors.Is(err, gotrace.ErrLimit) {
				t.Errorf("got error %v, want that the generation is over its limit", err)
			}
			if at, most := r.Offset(), limits.GenerationBytes+gotrace.MaxBatchBytes; at > most {
				t.Errorf("the generation ended after %d bytes, want at most %d", at, most)
			}
			if held, most := r.Held(), 1<<20; held > most {
				t.Errorf("the reader holds %d bytes, want at most %d: the tables have a limit of %d", held, most, limits.TableBytes)
			}
		})
	}
}

// TestNamesOfAGenerationAreKeptOnce: over the limit of names a text that is told time
// and again is one text, not one each time.
func TestNamesOfAGenerationAreKeptOnce(t *testing.T) {
	const distinct = 100
	var table, events []byte
	table = append(table, 4)
	for i := range uint64(distinct) {
		text := append([]byte(gotracetest.MarkPrefix), byte('0'+i/10), byte('0'+i%10))
		table = append(binary.AppendUvarint(append(table, 5), 5000+i), byte(len(text)))
		table = append(table, text...)
	}
	for i := range uint64(20 * distinct) {
		events = append(events, 44, 1, 0) // a user log
		events = append(binary.AppendUvarint(events, 5000+i%distinct), 0, 0)
	}
	frequency := append(binary.AppendUvarint([]byte{50, 8}, 1e9), 51, 1, 1, 1, 1)
	data := []byte("go 1.26 trace\x00\x00\x00")
	for _, b := range [][]byte{frequency, events, table} {
		data = append(binary.AppendUvarint(append(data, 1, 1, 1, 1), uint64(len(b))), b...)
	}
	data = append(data, 52)
	o := gotrace.Options{Limits: gotrace.Limits{Names: 10}, MarkPrefix: gotracetest.MarkPrefix}
	err := all(t, data, o, func(_ *gotrace.Reader, g *gotrace.Generation) {
		texts := map[*byte]bool{}
		for _, m := range g.Marks {
			texts[unsafe.StringData(m.Key)] = true
		}
		if len(g.Marks) != 20*distinct || len(texts) != distinct {
			t.Errorf("%d marks have %d texts, want %d of %d", len(g.Marks), len(texts), 20*distinct, distinct)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTurnsAreBounded: a goroutine whose coroutines have more turns than there is room
// for is not told of, and counted.
func TestTurnsAreBounded(t *testing.T) {
	const most = 3
	ops := []byte{0, 3, 1, 0, 27, 0, 0, 12, 2, 3, 12, 1, 1, 12, 1, 0, 0, 1, 3, 12, 2, 0, 4, 2, 0, 12, 2, 2, 45, 3, 1, 45, 2, 3,
		3, 2, 1, 45, 3, 0, 6, 2, 3, 12, 2, 3, 6, 0, 0, 12, 0, 0, 45, 3, 1, 12, 2, 2, 12, 1, 1, 3, 2, 1, 11, 0, 0, 5, 0, 3,
		12, 3, 1, 45, 1, 2, 12, 1, 0, 12, 1, 3, 45, 3, 3, 12, 1, 1, 12, 2, 0, 5, 3, 3, 4, 1, 1}
	o := gotrace.Options{MarkPrefix: gotracetest.MarkPrefix}
	for limit, more := range map[int]bool{64: false, most: true} {
		o.Limits.Records = limit
		err := all(t, gotracetest.Compose(ops), o, func(_ *gotrace.Reader, g *gotrace.Generation) {
			if len(g.Turns) > limit || (g.Lost.Tracks > 0) != more || !more && len(g.Turns) <= most {
				t.Errorf("of %d turns there are %d, %d tracks lost", limit, len(g.Turns), g.Lost.Tracks)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
