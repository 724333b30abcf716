module github.com/otelgc/otelgc/semconv/registry

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	go.opentelemetry.io/otel v1.47.0
	go.yaml.in/yaml/v3 v3.0.5
)

require github.com/cespare/xxhash/v2 v2.3.0 // indirect
