// Package oracle checks internal/gotrace against golang.org/x/exp/trace, the
// reader of the Go project: what both can see must be the same, on the same
// bytes. It is a module of its own, so that the oracle is no dependency of
// otelgc. It holds tests and a benchmark only.
package oracle
