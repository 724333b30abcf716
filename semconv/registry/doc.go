// Package registry is the registry of otelgc's telemetry, in the form of OpenTelemetry's
// semantic conventions: the YAML beside it, which weaver reads. docs/telemetry.md and
// tables in Go are generated from it. It is a module of its own so that users of otelgc
// get no YAML library with it.
package registry

//go:generate go test -count=1 -run=^TestGenerated$ -update .
