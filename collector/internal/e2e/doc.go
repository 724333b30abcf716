// Package e2e tests the whole way: services and a sidecar send OTLP to
// Collectors that run the repository's own configurations, one Collector or both
// tiers, and the test reads back what comes out. Everything is built from the
// tree, runs as processes of their own, and stays on the loopback addresses.
//
// It runs on Linux only: the sidecar's probe and the clock are Linux's.
package e2e
