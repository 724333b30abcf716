// Package gotracetest makes Go execution traces for tests: it assembles them
// from the text form of the Go source tree's test data, finds that data, and
// records traces of this process.
package gotracetest
