// Package source defines what all that sees stalls has in common: a [Source]
// yields [Batch]es, and its reader calls Next.
package source

import (
	"context"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Source sees stalls.
//
// A Source has one caller. It never runs code of the caller's, and what feeds it
// never waits for Next: what is not fetched in time is counted in [Batch.Lost],
// and its time is in [Batch.Unseen].
type Source interface {
	// Next waits until the source knows more, or ctx is done. The Batch is valid
	// until the next call. The error is io.EOF when the source is over, and the
	// context's when ctx is done; after any other error Next may be called again.
	Next(ctx context.Context) (Batch, error)
	// Close ends the source and frees what it holds. Next returns what is left, and
	// then io.EOF. A second Close does nothing.
	Close() error
}

// Batch is what a source learned since the last one.
type Batch struct {
	// Epoch differs between any two batches in which a [stall.Interval.Ref], or
	// the Index of a collection, counts from another beginning.
	Epoch uint64
	// Watermark is how far the source has seen: every interval that began before
	// it is in this batch or an earlier one, but for those in Unseen.
	Watermark stall.Instant
	// Unseen holds the spans in which stalls may be missing.
	Unseen    []stall.Span
	Intervals []stall.Interval
	// Collections may come later than the intervals of their pauses.
	Collections []gc.Collection
	Lost        Loss
}

// Loss is what a source saw and could not keep.
type Loss struct {
	Count uint64
	Time  time.Duration
}

// Flusher is a [Source] that can be hurried.
type Flusher interface {
	// Flush has Next return what is known by now, and does not wait for it.
	Flush()
}

// Explainer is a [Source] that knows what decided the cause of an interval.
type Explainer interface {
	// Evidence says it of interval i of the last batch; empty if nothing did.
	Evidence(i int) string
}

// Reporter is a [Source] that says how much of the time it watches.
type Reporter interface {
	Status() Status
}

// Status is what a source has watched since it began.
type Status struct {
	Origin   stall.Origin
	CPUs     []int         // that it watches, if it watches CPUs
	Observed time.Duration // from its first look to its last
	Coverage float64       // the fraction of Observed of which it can say what happened
	Lost     Loss
}
