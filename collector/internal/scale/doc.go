// Scale measures the connector stall: how many spans it attributes in a second
// of CPU time, beside the span metrics connector in the same run, and what memory
// it takes over minutes of telemetry that comes late, twice, out of order and not
// at all.
//
//	go run . -for 10m -o ../../../docs/accuracy/collector.md
//
// It ends with 1 if a span was lost or charged wrongly, or more memory was taken
// than was configured. It has a module of its own, so that the span metrics
// connector is none of the distribution's.
package main
