package stall

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func newTestClock(t *testing.T) Clock {
	t.Helper()
	c, err := NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClockAtAgreesWithNow(t *testing.T) {
	c := newTestClock(t)
	before := c.Now()
	at, ok := c.At(time.Now())
	after := c.Now()
	if !ok {
		t.Fatal("At of time.Now: not known")
	}
	if at < before || at > after {
		t.Errorf("At of time.Now: got %d, want %d to %d", at, before, after)
	}
}

// TestClocksOfOneProcessAgree: an Instant of one is an Instant of the other.
func TestClocksOfOneProcessAgree(t *testing.T) {
	a := newTestClock(t)
	b := newTestClock(t)
	slack := a.Error() + b.Error()
	before := a.Now().Add(-slack)
	now := b.Now()
	if after := a.Now().Add(slack); now < before || now > after {
		t.Errorf("got %d, want %d to %d", now, before, after)
	}
}

func TestClockAtRefusesWallTime(t *testing.T) {
	c := newTestClock(t)
	now := time.Now()
	for name, stripped := range map[string]time.Time{
		"Round":    now.Round(0),
		"Truncate": now.Truncate(time.Second),
		"UTC":      now.UTC(),
		"In":       now.In(time.FixedZone("", 3600)),
		"Unix":     time.Unix(now.Unix(), 0),
		"zero":     {},
	} {
		if at, ok := c.At(stripped); ok {
			t.Errorf("At of a time from %s: got %d, want not known", name, at)
		}
	}
	if _, ok := c.At(now.Add(time.Hour)); !ok {
		t.Error("At of a time from Add: got not known, but it keeps its monotonic reading")
	}
}

func TestWallIsWithinItsError(t *testing.T) {
	c := newTestClock(t)
	before := time.Now().UnixNano()
	w := c.Wall()
	after := time.Now().UnixNano()
	got := w.Time(w.At).UnixNano()
	if slack := int64(w.Error); got < before-slack || got > after+slack {
		t.Errorf("wall time: got %d within %v, want %d to %d", got, w.Error, before, after)
	}
	if d := w.Time(w.At.Add(time.Minute)).Sub(w.Time(w.At)); d != time.Minute {
		t.Errorf("wall time a minute later: got %v later", d)
	}
	if w.Error <= 0 || w.Error >= time.Hour {
		t.Errorf("error: got %v, want a measured one", w.Error)
	}
}

// TestNoClockInABubble: what a test makes of time is no time of the machine.
func TestNoClockInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if c, err := NewClock(); !errors.Is(err, ErrNotSupported) {
			t.Errorf("got a clock at %d, %v, want %v", c.Now(), err, ErrNotSupported)
		}
	})
}
