package otelenv

import "strings"

// hints say what to do about an error of an exporter, or of its settings, by its text;
// the first that is in it holds. An error without one has none: it would be a guess.
var hints = []struct{ text, hint string }{
	{"does not look like a TLS handshake", noTLS},
	{"HTTP response to HTTPS client", noTLS},
	{"x509: ", "name the file with the CA of the Collector in OTEL_EXPORTER_OTLP_CERTIFICATE"},
	{"failed to load TLS", "name files that can be read in OTEL_EXPORTER_OTLP_CERTIFICATE, _CLIENT_CERTIFICATE and _CLIENT_KEY: without them the settings do not hold"},
	{"invalid OTEL_", "correct it, or unset it: it does not hold"},
	{"malformed HTTP response", "what answers there speaks no HTTP/1: name the Collector's port for OTLP over HTTP (4318), or set OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
	{"error reading server preface", "what answers there speaks no gRPC: name the Collector's port for gRPC (4317), or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"},
	{"404 ", "what answers there takes no OTLP at this path: name the Collector in OTEL_EXPORTER_OTLP_ENDPOINT"},
	{"405 ", "what answers there takes no OTLP: name the Collector in OTEL_EXPORTER_OTLP_ENDPOINT"},
	{"501 ", "what answers there takes no OTLP: name the Collector in OTEL_EXPORTER_OTLP_ENDPOINT"},
	{"401 ", credentials}, {"403 ", credentials}, {"Unauthenticated", credentials}, {"PermissionDenied", credentials},
	{"no such host", noHost}, {"produced zero addresses", noHost},
	{"connection refused", noCollector}, {"deadline exceeded", noCollector}, {"timeout", noCollector},
	{"Unavailable", noCollector}, {"no route to host", noCollector}, {"network is unreachable", noCollector},
}

const (
	noTLS       = "the Collector speaks no TLS: have OTEL_EXPORTER_OTLP_ENDPOINT begin with http://"
	credentials = "the Collector wants credentials: give them in OTEL_EXPORTER_OTLP_HEADERS"
	noHost      = "name a host in OTEL_EXPORTER_OTLP_ENDPOINT that the resolver knows"
	noCollector = "start a Collector at OTEL_EXPORTER_OTLP_ENDPOINT, or run without one: OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none OTEL_TRACES_EXPORTER=none"
)

// hintOf says what to do about an error, empty where nobody knows.
func hintOf(err error) string {
	text := err.Error()
	for _, h := range hints {
		if strings.Contains(text, h.text) {
			return h.hint
		}
	}
	return ""
}
