package nettrace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

// liveHeap returns the bytes of the heap that are in use.
func liveHeap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// row6 is a type of format 6, without fields.
func row6(id int, provider, name string) []byte {
	row := binary.AppendUvarint(nil, uint64(id))
	row = append(binary.AppendUvarint(row, uint64(len(provider))), provider...)
	row = append(row, 1)
	row = append(binary.AppendUvarint(row, uint64(len(name))), name...)
	row = append(row, 0, 0, 0, 0)
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(row))), row...)
}

// events6 is a block of n events of a type, of which the first is at a tick,
// and the others with it.
func events6(typ uint32, n int) []byte {
	b := append([]byte{20, 0, 1, 0}, make([]byte, 16)...)
	b = append(binary.AppendUvarint(append(b, 1), uint64(typ)), 10)
	return append(b, make([]byte, 2*(n-1))...)
}

// greedy are streams that make a reader hold what they can.
var greedy = map[string]func(w *nettracetest.Writer){
	"names of three bytes": func(w *nettracetest.Writer) {
		for k := 0; k < 1<<20; {
			block := []byte{0, 0}
			for ; len(block) < 1<<18; k++ {
				block = append(block, row6(1, "", string([]byte{byte(k), byte(k >> 8), byte(k >> 16)}))...)
			}
			w.Block(3, block)
		}
	},
	// Each type is forgotten, and one event of it is not overwritten by those of
	// the next.
	"names that are forgotten": func(w *nettracetest.Writer) {
		for k := range 100 {
			w.Block(3, append([]byte{0, 0}, row6(1, "", strings.Repeat(string(rune('a'+k%26)), 60000))...))
			w.Block(2, events6(1, 2000-10*k))
			w.SequencePoint(10, 3)
		}
	},
	"types that are defined anew": func(w *nettracetest.Writer) {
		for k := range 200_000 {
			w.Block(3, append([]byte{0, 0}, row6(1, "p", "n")...))
			w.Block(2, events6(1, 1+k%2))
		}
	},
	"events without an order": func(w *nettracetest.Writer) {
		w.Block(3, append([]byte{0, 0}, row6(1, "p", "n")...))
		for range 100 {
			w.Block(2, events6(1, 10_000))
		}
	},
	"threads": func(w *nettracetest.Writer) {
		for k := range uint64(200_000) {
			w.RemoveThreads(nettracetest.Reached{Thread: k, Seq: uint32(k)})
			w.Threads(nettracetest.Thread{Index: k % 10_000})
		}
	},
	"threads of sequence points": func(w *nettracetest.Writer) {
		for k := range uint64(100) {
			list := make([]nettracetest.Reached, 10_000)
			for i := range list {
				list[i] = nettracetest.Reached{Thread: 10_000*k + uint64(i), Seq: uint32(k)}
			}
			w.SequencePoint(k, 0, list...)
		}
	},
	"a large block": func(w *nettracetest.Writer) { w.Block(99, make([]byte, 1<<20)) },
}

// cut is a stream that stays open.
type cut struct{ io.Reader }

func (c cut) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if err == io.EOF {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// TestGreedy: a reader holds no more than it says, which is bounded, whatever a
// stream sends. It looks when a read begins, as one who shares out memory does.
func TestGreedy(t *testing.T) {
	const (
		ceiling = 16 << 20
		noise   = 256 << 10
	)
	for name, write := range greedy {
		t.Run(name, func(t *testing.T) {
			w := nettracetest.New(nettracetest.Options{Version: 6})
			write(w)
			stream := w.Bytes()
			w = nil
			before := liveHeap()
			var r *nettrace.Reader
			most, reads := 0, 0
			look := func() {
				if r == nil {
					return
				}
				held := r.Held()
				if reads++; reads%16 == 0 && held > most {
					most = held
					if got := liveHeap() - before; got > int64(held+noise) {
						t.Fatalf("the reader holds %d bytes, and says that it holds at most %d", got, held)
					}
				}
			}
			r, err := nettrace.NewReader(cut{looking{bytes.NewReader(stream), look}}, nettrace.Options{})
			for err == nil {
				_, err = r.Next()
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, nettrace.ErrLimit) {
				t.Fatal(err)
			}
			held := r.Held()
			got := liveHeap() - before
			t.Logf("%v: most %d, in the end %d, and says %d", err, most, got, held)
			if got > int64(held+noise) || held > ceiling || most > ceiling {
				t.Errorf("the reader holds %d bytes, says %d, and said %d, want at most %d", got, held, most, ceiling)
			}
			runtime.KeepAlive(r)
			runtime.KeepAlive(stream)
		})
	}
}

// looking calls a function before each read.
type looking struct {
	io.Reader
	look func()
}

func (l looking) Read(b []byte) (int, error) {
	l.look()
	return l.Reader.Read(b)
}

// TestRest: when a stream has nothing to say the memory of a burst is given
// back.
func TestRest(t *testing.T) {
	w := nettracetest.New(nettracetest.Options{Version: 6})
	w.Block(99, make([]byte, 1<<20-1))
	w.Block(3, append([]byte{0, 0}, row6(1, "p", "n")...))
	w.Block(2, events6(1, 10_000))
	r, err := nettrace.NewReader(cut{bytes.NewReader(w.Bytes())}, nettrace.Options{})
	events, most := 0, 0
	for err == nil {
		if _, err = r.Next(); err == nil {
			events++
			most = max(most, r.Held())
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || events != 10_000 {
		t.Fatalf("got %d events, %v", events, err)
	}
	if held := r.Held(); most < 1<<20 || held > 16<<10 {
		t.Errorf("held %d bytes, and %d at rest, want a megabyte, and a few kilobytes", most, held)
	}
}

// TestLimitsOfCaptures: streams of real processes stay far below the limits.
func TestLimitsOfCaptures(t *testing.T) {
	d := nettrace.Limits{
		BlockBytes: nettrace.DefaultBlockBytes / 4, HeldEvents: nettrace.DefaultHeldEvents / 16, HeldBytes: nettrace.DefaultHeldBytes / 4,
		Metadata: nettrace.DefaultMetadata / 8, NameBytes: nettrace.DefaultNameBytes / 8, Threads: nettrace.DefaultThreads / 64,
	}
	names, err := filepath.Glob("testdata/*.nettrace")
	if err != nil || len(names) < 10 {
		t.Fatalf("captures: %v, %v", names, err)
	}
	for _, path := range names {
		stream, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, r, err := read(t, stream, nettrace.Options{Limits: d})
		if errors.Is(err, nettrace.ErrLimit) || r.Stats().Forced+r.Stats().Forgotten != 0 {
			t.Errorf("%s: %v, %+v, want nothing over a part of the limits", path, err, r.Stats())
		}
		// Up to two buffers of a read, and what a flush holds.
		if held := r.Held(); held > 1<<20 {
			t.Errorf("%s: held %d bytes", path, held)
		}
	}
}
