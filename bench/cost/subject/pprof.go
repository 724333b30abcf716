//go:build pprof

package main

import _ "net/http/pprof" // what a sidecar pulls slices of the trace from
