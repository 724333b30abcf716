// Package stall is the model that every part of otelgc stands on: what stalled
// a program, for how long, on one clock, and which request paid for it.
//
// Sources turn what they saw into [Interval]s and keep them in a [Log]. A
// [Joiner] lays the intervals over the [Window] of a request and yields a
// [Share], in which every nanosecond of the window has exactly one owner.
//
// The laws, which no code of the project may bend:
//
//   - One clock. Every [Instant] is CLOCK_MONOTONIC of this boot.
//   - A source never says "nothing happened". It says "I have seen everything
//     before this watermark" and names the spans it did not see.
//   - What is left over is named for what is known about it: [Share.App],
//     [Share.AppOrHost] or [Share.Unseen]. Unseen time is never the app's.
//
// The package imports only the standard library.
package stall
