// Package stallconnector is the Collector connector "stall": it takes the events
// of otelgc and its sidecar from logs pipelines and spans from traces pipelines,
// and yields the spans with what stalled them, the sums of requests per service
// as metrics, and one event per slow span.
//
// All the thinking is in package attribution. This package is its lifecycle: the
// Collector makes one instance for each pair of signals, and those of one
// component id share one attribution, its memory limit, and one goroutine. Where
// spans are wanted by several of them, one holds them: the one that hands spans
// on, else the one that counts, else the one that tells of slow spans.
package stallconnector

//go:generate go tool -modfile=../internal/tools/go.mod mdatagen metadata.yaml
