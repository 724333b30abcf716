package jitterprobe

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// TestNext: every gap is in one batch, in order, before the watermark; then it is over.
func TestNext(t *testing.T) {
	needSpin(t)
	p, err := Start(Options{Mode: Spin, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Next(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("next without patience: %v", err)
	}
	var gaps uint64
	var last, mark stall.Instant
	for i := 0; ; i++ {
		if i == 3 {
			if err := p.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		b, err := p.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		gaps += uint64(len(b.Intervals))
		for k, v := range b.Intervals {
			if v != p.Gaps()[k].Interval || p.Evidence(k) != p.Gaps()[k].Evidence.String() {
				t.Errorf("interval %d is not that of its gap", k)
			}
			if v.End < last || v.End > b.Watermark {
				t.Errorf("gap up to %d: after one up to %d, watermark %d", v.End, last, b.Watermark)
			}
			last = v.End
		}
		if b.Watermark < mark {
			t.Errorf("the watermark fell from %d to %d", mark, b.Watermark)
		}
		mark = b.Watermark
	}
	if s := p.Stop(); gaps != s.Gaps || s.Unread != 0 || mark != s.Watermark {
		t.Errorf("%d gaps up to %d, want %d up to %d; %d unread", gaps, mark, s.Gaps, s.Watermark, s.Unread)
	}
	if got, want := p.Status().Origin, stall.ProbeSpin; got != want {
		t.Errorf("origin: got %v, want %v", got, want)
	}
}

// TestNobodyFetches: gaps that find no room are counted, and their time is unseen.
func TestNobodyFetches(t *testing.T) {
	p := &Probe{queue: queue{news: make(chan struct{}, 1)}, fetched: 1}
	gaps := make([]Gap, maxQueued/2+1)
	for i := range gaps {
		gaps[i] = Gap{Interval: stall.Interval{Start: 10, End: 20}}
	}
	s := Snapshot{Watermark: 100}
	for range 3 {
		p.queue.put(gaps, 1, time.Microsecond, &s)
	}
	over := uint64(3*len(gaps) - maxQueued)
	b, err := p.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := source.Loss{Count: 3 + over, Time: 3*time.Microsecond + time.Duration(10*over)}
	if b.Lost != want || s.Unread != over || len(b.Intervals) != maxQueued {
		t.Errorf("lost %+v, unread %d, %d gaps, want %+v, %d, %d", b.Lost, s.Unread, len(b.Intervals), want, over, maxQueued)
	}
	if len(b.Unseen) != 1 || b.Unseen[0] != (stall.Span{Start: 1, End: 100}) {
		t.Errorf("unseen: got %v, want 1 to 100", b.Unseen)
	}
	p.queue.put(nil, 0, 0, &s)
	if b, err := p.Next(t.Context()); err != nil || b.Lost != (source.Loss{}) || len(b.Unseen) != 0 {
		t.Errorf("the next batch: got %+v, %v, want nothing lost", b, err)
	}
}
