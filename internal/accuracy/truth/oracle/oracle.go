// Package oracle recomputes, for each window of a busy program, what its time
// was charged to: from the bytes of the very trace that the monitor decoded, by
// golang.org/x/exp/trace, and by an algorithm that is written from the rules of
// docs/architecture.md and shares no code with the monitor. Both must agree to
// a microsecond, cause by cause.
//
// It is a module of its own, so that the reader of the Go project is no
// dependency of otelgc. It holds tests only.
package oracle
