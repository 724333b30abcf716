package verb

import (
	"errors"
	"strings"
	"testing"
)

// TestMendOf: a Collector that answers in another way than it is asked is not one
// that has to be started.
func TestMendOf(t *testing.T) {
	for text, want := range map[string]string{
		"authentication handshake failed: tls: first record does not look like a TLS handshake":           "http://",
		`Post "https://localhost:4318/v1/logs": http: server gave HTTP response to HTTPS client`:          "http://",
		"authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by": "OTEL_EXPORTER_OTLP_CERTIFICATE",
		"dial tcp 127.0.0.1:4317: connect: connection refused":                                            "start a Collector",
	} {
		if got := mendOf(errors.New(text)); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", text, got, want)
		}
	}
}
