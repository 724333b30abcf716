// Package attribution charges the time of spans to its causes, from the log events
// that the sources of their host and process sent.
//
// It is the join of package stall, behind the services instead of in them:
//
//	events (otelgc.gc.collection, .suspension, .jitter.gap, .source.status)
//	   └─> Attributor: intervals and watermarks per boot id and process
//	spans ─> held until every source has passed their end, or Wait is over
//	   └─> the same spans with otelgc.stall.* attributes, and sums per service
//
// A status says that all before it was sent, if none before it is missing. A
// span is of a process only if nothing else can be meant.
//
// Nothing is lost: a span that finds no room goes on as it came, counted. What a
// backend cannot know, the states of goroutines, it does not guess: stops are
// charged by overlap, "at most", and the rest of a span is unseen. Collections
// count if a pause overlaps for certain, whatever the slack.
//
// Package wire reads and writes pdata, senders keeps what each sender said, services
// sums, and budget bounds the memory of all of them. Here is what is known of hosts and
// processes, which process a span is of, and the join.
//
// The package knows collector pdata and no Collector: a connector is a thin host
// around it.
package attribution
