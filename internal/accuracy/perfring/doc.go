// Package perfring reads what the kernel writes into the ring of a perf event
// (perf_event_open(2)), for measurements that need a witness beside the one
// they measure.
package perfring
