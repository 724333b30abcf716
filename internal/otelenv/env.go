package otelenv

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

type signal string

const (
	metrics signal = "METRICS"
	logs    signal = "LOGS"
	traces  signal = "TRACES"
)

type protocol uint8

const (
	none protocol = iota
	grpc
	http
)

// protocolOf returns how s is to be exported.
func protocolOf(s signal) (protocol, error) {
	name := "OTEL_" + string(s) + "_EXPORTER"
	switch v := env(name); v {
	case "", "otlp":
	case "none":
		return none, nil
	default:
		return none, fmt.Errorf("read %s: %q is neither otlp nor none", name, v)
	}
	name = "OTEL_EXPORTER_OTLP_" + string(s) + "_PROTOCOL"
	if env(name) == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	switch v := env(name); v {
	case "", "grpc":
		return grpc, checkEndpoint(s, grpc)
	case "http/protobuf":
		return http, checkEndpoint(s, http)
	default:
		return none, fmt.Errorf("read %s: %q is neither grpc nor http/protobuf", name, v)
	}
}

// disabled reports whether OTEL_SDK_DISABLED is "true" in any case; by the
// specification every other value means false.
func disabled() bool { return strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") }

func env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// size returns the positive number that name holds, else otherwise: what the
// SDK does with it too.
func size(name string, otherwise int) int {
	if n, err := strconv.Atoi(env(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}
