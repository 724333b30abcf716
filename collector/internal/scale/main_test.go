package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// TestShort: a short run of both measurements shows what a long one does, and its
// page has all figures.
func TestShort(t *testing.T) {
	o := options{rounds: 1, round: 200 * time.Millisecond, soak: 4 * time.Second, rate: 2000, limit: 128 << 20}
	compared, err := o.compare(context.Background(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	soaked, err := o.soakFor(context.Background(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := soaked.verdict(&o); err != nil {
		t.Error(err)
	}
	if soaked.duplicates == 0 || soaked.part.Load() == 0 {
		t.Errorf("%d duplicates, %d spans with less than all: what is to go wrong did not", soaked.duplicates, soaked.part.Load())
	}
	text := page(&o, compared, soaked)
	for _, want := range []string{"| 1 | stall |", "| 1 | span_metrics |", "| spans in | ", "max_bytes of 128.0 MiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
}

// TestVerdict: what must not be is said.
func TestVerdict(t *testing.T) {
	r := &soaked{sent: 3, samples: []sample{{held: 9, live: 1 << 30}}}
	r.received.Store(2)
	r.wrong.Store(1)
	err := r.verdict(&options{limit: 8})
	for _, want := range []string{"3 spans went in, 2 came out", "1 spans were charged wrongly", "9 bytes held", "1073741824 bytes alive", "nothing was shown"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// TestPaused: how long a span is paused, by hand.
func TestPaused(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, x := range []struct{ start, end, want int64 }{
		{1 * ms, 9 * ms, 0}, {0, 10 * ms, pauseLength}, {0, 10*ms + 1, pauseLength + 1}, {ms / 20, 20 * ms, pauseLength/2 + pauseLength},
	} {
		if got := paused(x.start, x.end); got != x.want {
			t.Errorf("paused(%d, %d): got %d, want %d", x.start, x.end, got, x.want)
		}
	}
}
