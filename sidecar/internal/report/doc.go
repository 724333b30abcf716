// Package report says what a recorded file knows of stop-the-worlds: Go
// execution traces and .NET nettrace files become the same collections,
// suspensions and holes, printed as a table, as JSON, as CSV, or beside the
// figures that PerfView would show.
//
// What a file does not hold is absent, never zero. A file that ends too soon is
// reported as far as it was whole, and Incomplete names the rest. A quantile
// that too few samples lie beyond is not printed.
package report
