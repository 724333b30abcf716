package registry

import _ "go.opentelemetry.io/otel/semconv/v1.43.0" // upstream_test.go reads its source
