package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/sidecar/internal/slowed"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func sample() (stall.Window, stall.Share) {
	w := stall.Window{Arrival: 9_000_000, Start: 10_000_000, End: 12_500_000}
	s := stall.Share{
		Total: 3_500_000, Uncertain: 100_000, App: 400_000, AppOrHost: 1_000_000, Unseen: 500_000,
		Covered: 3_000_000, Pauses: 2, Collections: 1, LastCollection: 8_000_000, Fidelity: stall.Exact,
	}
	s.Charged[stall.GCPause] = 700_000
	s.Charged[stall.Queue] = 800_000
	s.Overlapped[stall.RuntimeSuspension] = 5
	s.HostDuring[stall.HostThrottled] = 6
	s.Coincident[stall.HostUnknown] = 7
	return w, s
}

func TestStream(t *testing.T) {
	w, s := sample()
	c := gc.Collection{Index: 7, Cycles: 1, Kind: gc.FullBlocking, Start: gc.Known(stall.Instant(5)), End: gc.Known(stall.Instant(200)), Pauses: []gc.Pause{{Start: 5, End: 9}, {Start: 100, End: 200, Slack: 3}}}
	gap := stall.Interval{Start: 40, End: 90, Slack: 2, Cause: stall.HostUnknown, Scope: stall.ScopeCPU, Origin: stall.ProbePeriodic}
	stop := stall.Interval{Start: 300, End: 340, Cause: stall.RuntimeSuspension, Origin: stall.GoTrace}
	hello := Hello{Address: "127.0.0.1:1", GoVersion: "go1.26", GOMAXPROCS: 3, ProbeMode: "periodic", LiveHeap: 64}
	farewell := Farewell{RuntimeCycles: 3, Collections: 3, PauseNanos: 12, Slowed: slowed.Tally{Paging: 2, Longest: "y"}, Notes: []string{"x"}}

	var b bytes.Buffer
	out := NewWriter(&b)
	for _, err := range []error{out.Hello(&hello), out.Window(&w, &s), out.Collection(&c), out.Gap(&gap), out.Suspension(&stop), out.Farewell(&farewell), out.Flush()} {
		if err != nil {
			t.Fatal(err)
		}
	}

	in := NewReader(&b)
	next := func(want Kind) []byte {
		t.Helper()
		k, payload, err := in.Next()
		if err != nil || k != want {
			t.Fatalf("Next() = %q, %v, want %q", k, err, want)
		}
		return payload
	}
	gotHello, err := DecodeHello(next(KindHello))
	check(t, "hello", hello, gotHello, err)
	var gotW stall.Window
	var gotS stall.Share
	err = DecodeWindow(next(KindWindow), &gotW, &gotS)
	check(t, "window", w, gotW, err)
	check(t, "share", s, gotS, err)
	gotC, err := DecodeCollection(next(KindCollection))
	check(t, "collection", Collection{Index: 7, Cycles: 1, Kind: gc.FullBlocking, Active: stall.Span{Start: 5, End: 200}, Pauses: c.Pauses}, gotC, err)
	gotGap, err := DecodeGap(next(KindGap))
	check(t, "gap", gap, gotGap, err)
	gotStop, err := DecodeSuspension(next(KindSuspension))
	check(t, "suspension", stop, gotStop, err)
	gotFarewell, err := DecodeFarewell(next(KindFarewell))
	check(t, "farewell", farewell, gotFarewell, err)
	if _, _, err := in.Next(); err != io.EOF {
		t.Errorf("Next() after the last frame: %v, want EOF", err)
	}
}

func check[T any](t *testing.T, what string, want, got T, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("decode %s: %v", what, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(gc.Maybe[time.Duration]{}, gc.Maybe[uint64]{}, slowed.Tally{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestWindowWithoutArrival(t *testing.T) {
	w := stall.Window{Start: 5, End: 15}
	s := stall.Share{Total: 10, Unseen: 10}
	var gotW stall.Window
	var gotS stall.Share
	err := DecodeWindow(appendWindow(nil, &w, &s), &gotW, &gotS)
	check(t, "window", w, gotW, err)
	check(t, "share", s, gotS, err)
}

func TestDecodeWindowRefuses(t *testing.T) {
	tests := []struct {
		name string
		mend func(*stall.Window, *stall.Share)
		want string
	}{
		{"a sum that is wrong", func(_ *stall.Window, s *stall.Share) { s.App += time.Microsecond },
			`decode frame 'W': share sums to 3.501ms, want its total of 3.5ms`},
		{"an end before the start", func(w *stall.Window, _ *stall.Share) { w.End = w.Start - 1 },
			`decode frame 'W': window ends 1ns before it starts`},
		{"a delay by no collection", func(_ *stall.Window, s *stall.Share) { s.Collections = 0 },
			`decode frame 'W': 0 collections delayed the window by 700µs`},
		{"more coverage than time", func(_ *stall.Window, s *stall.Share) { s.Covered = s.Total + 1 },
			`decode frame 'W': share covers 3.500001ms of 3.5ms`},
		{"a time of days", func(_ *stall.Window, s *stall.Share) { s.Total = 48 * time.Hour },
			`decode frame 'W': duration of 172800000000000 ns, at most 24h0m0s`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, s := sample()
			tt.mend(&w, &s)
			var gotW stall.Window
			var gotS stall.Share
			err := DecodeWindow(appendWindow(nil, &w, &s), &gotW, &gotS)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestDecodeWindowTruncated(t *testing.T) {
	w, s := sample()
	whole := appendWindow(nil, &w, &s)
	for n := range whole {
		if err := DecodeWindow(whole[:n], &w, &s); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("first %d of %d bytes: error %v, want one that wraps io.ErrUnexpectedEOF", n, len(whole), err)
		}
	}
	w, s = sample()
	want := `decode frame 'W': 1 bytes are left over`
	if err := DecodeWindow(append(whole, 0), &w, &s); err == nil || err.Error() != want {
		t.Errorf("one byte more: error %v, want %q", err, want)
	}
}
