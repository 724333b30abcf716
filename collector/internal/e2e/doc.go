// Package e2e tests the whole way: a service with otelgc in it and a sidecar
// send OTLP to a Collector that runs the repository's collector-config.yaml,
// and the test reads back what the Collector wrote. Everything is built from
// the tree, runs as processes of their own, and stays on the loopback address.
//
// It runs on Linux only: the sidecar's probe and the clock are Linux's.
package e2e
