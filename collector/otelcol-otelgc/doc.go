// Command otelcol-otelgc is an OpenTelemetry Collector that holds what the
// configurations of this repository ask for, and nothing else: both tiers of
// charts/otelgc are this one binary.
//
// The OpenTelemetry Collector Builder generates all sources but this one from
// builder.yaml. A stock Collector with the same components runs the same configuration.
package main

import (
	// For the image, which has no certificates: the roots of a system come first.
	_ "golang.org/x/crypto/x509roots/fallback"
)

//go:generate go -C .. tool -modfile=internal/tools/go.mod builder --config otelcol-otelgc/builder.yaml --skip-get-modules --skip-compilation
//go:generate gofmt -w components.go main.go main_others.go main_windows.go
