package dotnetgc_test

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

// The operations that FuzzStream makes a stream of: each is a byte, and two bytes
// of what it is done with. Those that are no event are at the end.
const (
	opSuspend = iota
	opSuspended
	opRestart
	opRestarted
	opStart
	opEnd
	opStats
	opGlobal
	opHeap
	opAllocate // an event that the model does not read
	opCollect  // a whole collection
	opFlush
	opSorted
	opLose
	opPoint  // a sequence point
	opRepeat // so many of the operations before it, so often
	ops
)

// idAllocationTick is AllocationTick, which the runtime fires while it allocates, and
// which the model does not read.
const idAllocationTick = 10

// maxPlayed bounds the operations of one input of the fuzzer.
const maxPlayed = 5_000

// composed writes the stream of the first operations of a list.
func composed(list []byte, o nettracetest.Options, most int) *script {
	s := newScript(o)
	at, done := uint64(1), 0
	var play func(list []byte, nested bool)
	play = func(list []byte, nested bool) {
		for i := 0; i+3 <= len(list) && done < most; i += 3 {
			a, b := uint64(list[i+1]), uint64(list[i+2])
			thread, number := a%5+1, uint32(b)
			at += a >> 4
			done++
			switch list[i] % ops {
			case opSuspend:
				s.suspend(thread, at, dotnetgc.SuspendReason(b%8))
			case opSuspended:
				s.suspended(thread, at)
			case opRestart:
				s.restart(thread, at)
			case opRestarted:
				s.restarted(thread, at)
			case opStart:
				if b == 0xff {
					number = uint32(done) // always a new one
				}
				s.start(thread, at, number, uint32(a%4), dotnetgc.Reason(a%20), dotnetgc.Type(a>>2%3))
			case opEnd:
				s.end(thread, at, number, uint32(a%4))
			case opStats:
				s.stats(thread, at, b)
			case opGlobal:
				s.global(thread, at, uint32(a>>4)+1, uint32(b%4), []uint32{blocking, concurrent}[b>>7])
			case opHeap:
				s.heap(thread, at, uint32(b%20), a)
			case opAllocate:
				s.event(at, uint64(done), idAllocationTick, 0, words(uint32(b)))
			case opCollect:
				s.collect(thread, at, number, uint32(a%3), dotnetgc.Type(a>>2%3))
				at += 20
			case opFlush:
				s.flush()
			case opSorted:
				if n := len(s.events); n > 0 {
					s.events[n-1].Sorted = true
				}
			case opLose:
				s.flush()
				s.w.Lose(thread, uint32(b)+1)
			case opPoint:
				s.flush()
				s.w.SequencePoint(at, uint32(b%4), nettracetest.Reached{Thread: thread, Seq: uint32(b)})
			case opRepeat:
				if from := max(0, i-3*int(a)); !nested {
					for range b * b {
						play(list[from:i], true)
					}
				}
			}
			if len(s.events) >= 500 {
				s.flush()
			}
		}
	}
	play(list, false)
	return s
}

// drip is a stream that arrives in pieces, with a timeout after some.
type drip struct {
	b     []byte
	piece int
	reads int
}

func (d *drip) Read(b []byte) (int, error) {
	if d.reads++; d.piece > 0 && d.reads%7 == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	if len(d.b) == 0 {
		return 0, io.EOF
	}
	if d.piece > 0 {
		b = b[:min(len(b), d.piece)]
	}
	n := copy(b, d.b)
	d.b = d.b[n:]
	return n, nil
}

// streamLimits are small, so that the fuzzer meets them. heldCeiling is what reader
// and model may hold of a stream within them.
var streamLimits = nettrace.Limits{
	BlockBytes: 1 << 17, HeldEvents: 1 << 10, HeldBytes: 1 << 16, Metadata: 64, NameBytes: 1 << 14, Threads: 1 << 10,
}

const heldCeiling = 8 << 20

// runStream holds all from the bytes to the output to its contract.
func runStream(t *testing.T, in io.Reader, limits nettrace.Limits) {
	r, err := nettrace.NewReader(in, nettrace.Options{Limits: limits, Want: dotnetgc.Want})
	if err != nil {
		return // without a header there is no session
	}
	m := dotnetgc.NewModel(r.Header(), dotnetgc.Options{})
	var begins, starts, stops, lost uint64
	var all dotnetgc.Output
	take := func() {
		out := m.Take()
		all.Stops = append(all.Stops, out.Stops...)
		all.Collections = append(all.Collections, out.Collections...)
		all.Incomplete = append(all.Incomplete, out.Incomplete...)
		stops += uint64(len(out.Stops))
		for _, h := range out.Incomplete {
			lost += h.Lost
			if strings.HasPrefix(h.Why, "a stop ") {
				stops++
			}
		}
	}
	for {
		e, err := r.Next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			m.Idle()
			take()
			continue
		}
		if err != nil {
			break
		}
		if e.Provider == dotnetgc.Provider && e.ID == 9 {
			begins++
		}
		if e.Provider == dotnetgc.Provider && e.ID == 1 {
			starts++
		}
		m.Add(e)
		take()
		if held := r.Held() + m.Held(); held > heldCeiling {
			t.Fatalf("%d bytes are held, want at most %d", held, heldCeiling)
		}
	}
	m.Close()
	take()
	checkOutput(t, all)
	s := m.Stats()
	if stops > begins || stops+s.Malformed < begins {
		t.Fatalf("%d suspensions began, %d ended or are holes, %+v", begins, stops, s)
	}
	if n := uint64(len(all.Collections)); n > starts {
		t.Fatalf("%d collections began, %d came out", starts, n)
	}
	if got := r.Stats(); lost != s.Lost || lost != got.Lost+got.Untyped {
		t.Fatalf("%d events are lost by the holes, %d by the model, and %+v", lost, s.Lost, got)
	}
}

// endlessOps are the streams of what never ends, as operations.
var endlessOps = map[string][]byte{
	"suspensions of a background collection": {
		opStart, 6, 1, opSuspend, 0x11, 6, opSuspended, 0x11, 0, opRestart, 0x11, 0, opRestarted, 0x11, 0, opRepeat, 4, 255,
	},
	"collections of a stop": {opSuspend, 0x11, 1, opSuspended, 0x11, 0, opStart, 0x13, 0xff, opRepeat, 1, 255},
	"a chain of stops and collections": {
		opStart, 6, 1, opSuspend, 0x11, 6, opSuspended, 0x11, 0, opStart, 6, 0xff, opRestart, 0x11, 0, opRestarted, 0x11, 0,
		opSuspend, 0x12, 6, opSuspended, 0x12, 0, opStart, 6, 0xff, opRestart, 0x12, 0, opRestarted, 0x12, 0, opRepeat, 10, 255,
	},
	"threads that allocate": {opAllocate, 0x11, 1, opRepeat, 1, 255},
	"collections, whole and lossy": {
		opCollect, 0x11, 1, opCollect, 0x12, 2, opLose, 1, 3, opCollect, 0x11, 3, opPoint, 1, 9, opSorted, 0, 0, opCollect, 0x16, 4, opFlush, 0, 0, opRepeat, 8, 5,
	},
}

// streamFormats are the formats of a stream by the number that the fuzzer has for
// each; another number makes the input the stream itself.
var streamFormats = []nettracetest.Options{{Version: 4}, {Version: 5, Plain: true}, {Version: 6}, {Version: 6, Plain: true, PointerSize: 4}}

// FuzzStream holds the way from the bytes of a stream to the output of the model to
// its contract: no panic, a ceiling on what is held, an output that is coherent, and
// each stop handed out, or a hole, or counted. The input is a list of operations, of
// which the stream is made, and then bytes that are changed in it: so the fuzzer
// comes to states that changed bytes alone do not lead to.
func FuzzStream(f *testing.F) {
	for name, list := range endlessOps {
		for format := range streamFormats {
			f.Add(list, []byte(nil), byte(format), byte(len(name)))
			f.Add(list, []byte{200, 1, 4, 90, 2, 1}, byte(format), byte(0))
		}
	}
	for _, name := range []string{"collect5", "loh", "server", "target_sigkill"} {
		f.Add(readCapture(f, name), []byte(nil), byte(255), byte(100))
	}
	f.Fuzz(func(t *testing.T, list, changes []byte, format, piece byte) {
		stream := list
		if int(format) < len(streamFormats) {
			stream = composed(list, streamFormats[format], maxPlayed).stream()
		} else {
			stream = append([]byte(nil), stream...)
		}
		for ; len(changes) >= 3; changes = changes[3:] {
			at := (int(changes[0])<<8 | int(changes[1])) % (len(stream) + 1)
			if at < len(stream) {
				stream[at] ^= changes[2]
			}
		}
		runStream(t, &drip{b: stream, piece: 64 * int(piece)}, streamLimits)
	})
}

// TestEndlessStreams plays what never ends for long, by the limits of a live stream.
// The heap is measured when all is read and the pipeline still lives.
func TestEndlessStreams(t *testing.T) {
	const ceiling = 16 << 20
	for name, list := range endlessOps {
		t.Run(name, func(t *testing.T) {
			stream := composed(list, nettracetest.Options{Version: 6}, 300_000).stream()
			before := liveHeap()
			r, err := nettrace.NewReader(&drip{b: stream}, nettrace.Options{Want: dotnetgc.Want})
			if err != nil {
				t.Fatal(err)
			}
			m := dotnetgc.NewModel(r.Header(), dotnetgc.Options{})
			events := 0
			for {
				e, err := r.Next()
				if err != nil {
					break
				}
				events++
				m.Add(e)
				m.Take()
			}
			if got, held := liveHeap()-before, int64(r.Held()+m.Held()); got > ceiling || got > held+1<<20 {
				t.Errorf("%d bytes are held after %d events, and %d are said to be, want at most %d", got, events, held, ceiling)
			}
			runtime.KeepAlive(r)
			runtime.KeepAlive(m)
			runtime.KeepAlive(stream)
		})
	}
}
