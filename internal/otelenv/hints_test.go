package otelenv

import (
	"errors"
	"strings"
	"testing"
)

// TestHintOf: a Collector that answers in another way than it is asked is not one
// that has to be started, and a setting is mended where it was made.
func TestHintOf(t *testing.T) {
	for text, want := range map[string]string{
		"authentication handshake failed: tls: first record does not look like a TLS handshake":           "http://",
		`Post "https://localhost:4318/v1/logs": http: server gave HTTP response to HTTPS client`:          "http://",
		"authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by": "OTEL_EXPORTER_OTLP_CERTIFICATE",
		"dial tcp 127.0.0.1:4317: connect: connection refused":                                            "start a Collector",
		"context deadline exceeded": "start a Collector",
		"rpc error: code = Unavailable desc = name resolver error: produced zero addresses":                         "resolver",
		"invalid OTEL_EXPORTER_OTLP_TIMEOUT value abc: strconv.Atoi: parsing \"abc\": invalid syntax":               "correct it",
		"failed to load TLS: open /nope: no such file or directory":                                                 "can be read",
		"HTTP/1.x transport connection broken: malformed HTTP response \"\\x00\\x00\\x06\"":                         "PROTOCOL=grpc",
		"code = Unavailable desc = connection error: desc = \"error reading server preface: http2: frame too large": "PROTOCOL=http/protobuf",
		"failed to send logs to http://127.0.0.1:18080/v1/logs: 404 Not Found":                                      "takes no OTLP",
		"rpc error: code = PermissionDenied desc = no":                                                              "HEADERS",
		"rpc error: code = ResourceExhausted desc = too much":                                                       "", // who knows
	} {
		if got := hintOf(errors.New(text)); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q in it", text, got, want)
		}
	}
}
