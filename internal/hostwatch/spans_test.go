package hostwatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

func TestSplit(t *testing.T) {
	a := []stall.Span{span(0, 10), span(20, 30), span(40, 50)}
	b := []stall.Span{span(5, 22), span(24, 26), span(28, 45), span(60, 70)}
	outside, inside := split(nil, nil, a, b)
	if diff := cmp.Diff([]stall.Span{span(0, 5), span(22, 24), span(26, 28), span(45, 50)}, outside); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]stall.Span{span(5, 10), span(20, 22), span(24, 26), span(28, 30), span(40, 45)}, inside); diff != "" {
		t.Errorf("inside (-want +got):\n%s", diff)
	}
}

func TestThrottleClaims(t *testing.T) {
	ms := func(from, to int) stall.Interval {
		return stall.Interval{Start: stall.Instant(from * 1e6), End: stall.Instant(to * 1e6), Cause: stall.HostPreempted}
	}
	list := []stall.Interval{ms(0, 3), ms(10, 60), ms(70, 71)}
	var th throttle
	th.claim(list)
	th.add(49*time.Millisecond, batchEvery)
	th.claim(list)
	var got []stall.Cause
	for _, v := range list {
		got = append(got, v.Cause)
	}
	if diff := cmp.Diff([]stall.Cause{stall.HostPreempted, stall.HostThrottled, stall.HostPreempted}, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	th.add(5*time.Millisecond, batchEvery)
	for range throttleKept / batchEvery {
		th.add(0, batchEvery)
	}
	if th.left != 0 {
		t.Errorf("time that nobody claimed stays: %v", th.left)
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add(make([]byte, eventSize))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := decodeEvent(b)
		if ok && (len(b) != eventSize || e.kind > out || e.at <= 0 || e.tid <= 0) {
			t.Errorf("accepted %+v", e)
		}
		if !ok {
			return
		}
		l := newTimeline(2, 0)
		l.take(e)
		l.end(e.at + 1)
	})
}
