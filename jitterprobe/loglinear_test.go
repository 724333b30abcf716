package jitterprobe

import (
	"math"
	"testing"
	"time"
)

func TestLogLinearBuckets(t *testing.T) {
	var h LogLinear
	last := time.Duration(0)
	for i := range LinearBuckets {
		from, below := h.Bounds(i)
		if from != last || below <= from {
			t.Fatalf("bucket %d from %d to %d, the one before ends at %d", i, from, below, last)
		}
		if i < LinearBuckets-1 && (linear(from) != i || linear(below-1) != i) {
			t.Fatalf("bucket %d from %d to %d: they are in %d and %d", i, from, below, linear(from), linear(below-1))
		}
		if from >= 16 && i < LinearBuckets-1 && 16*(below-from) > from {
			t.Fatalf("bucket %d from %d to %d is too wide", i, from, below)
		}
		last = below
	}
	if linear(math.MaxInt64) != LinearBuckets-1 || linear(-1) != 0 {
		t.Errorf("of the longest: %d, of less than nothing: %d", linear(math.MaxInt64), linear(-1))
	}
}

func TestLogLinearQuantile(t *testing.T) {
	var h LogLinear
	if got := h.Quantile(0.5); got != 0 {
		t.Errorf("of nothing: got %v, want 0", got)
	}
	for i := range 1000 {
		h[linear(time.Duration(i+1)*time.Microsecond)]++
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 500, 0.99: 990, 1: 1000, 7: 1000} {
		want *= time.Microsecond
		if got := h.Quantile(q); got < want || got > want+want/16 {
			t.Errorf("quantile %v: got %v, want %v or up to 6 %% more", q, got, want)
		}
	}
	other := h
	h.Merge(&other)
	if got := h.Total(); got != 2000 {
		t.Errorf("merged: got %d, want 2000", got)
	}
}
