// Package tools has a module of its own for what generates code here: mdatagen in
// package stallconnector, and the Collector Builder in otelcol-otelgc.
//
//	go tool -modfile=../internal/tools/go.mod mdatagen metadata.yaml
package tools
