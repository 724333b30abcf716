package otelenv

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestDefaultEndpoint: who says nothing exports to this machine without TLS, by
// either protocol.
func TestDefaultEndpoint(t *testing.T) {
	for protocol, c := range map[string]struct{ address, want string }{
		"grpc":          {"localhost:4317", "PRI"}, // HTTP/2
		"http/protobuf": {"localhost:4318", "POS"},
	} {
		t.Run(protocol, func(t *testing.T) {
			clearEnv(t)
			l, err := net.Listen("tcp", c.address)
			if errors.Is(err, syscall.EADDRINUSE) {
				t.Skipf("skipped: %s is somebody else's", c.address)
			} else if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			first := make(chan string, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return // it is closed
				}
				defer func() { _ = conn.Close() }()
				b := make([]byte, len(c.want))
				_, _ = io.ReadFull(conn, b) // what is missing shows
				first <- string(b)
			}()
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "10")
			p := start(t, Options{})
			p.limit = 100 * time.Millisecond
			emit(p, 1)
			got := <-first
			_ = p.Shutdown(context.Background()) // nobody answers
			if got != c.want {
				t.Errorf("a connection begins with %q, want %q", got, c.want)
			}
		})
	}
}

// TestPlain: whoever says anything of TLS, or of where to, has it as he says.
func TestPlain(t *testing.T) {
	for name, want := range map[string]bool{
		"": true, "OTEL_EXPORTER_OTLP_HEADERS": true, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": true,
		"OTEL_EXPORTER_OTLP_ENDPOINT": false, "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": false,
		"OTEL_EXPORTER_OTLP_INSECURE": false, "OTEL_EXPORTER_OTLP_LOGS_INSECURE": false,
		"OTEL_EXPORTER_OTLP_CERTIFICATE": false, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": false,
	} {
		t.Run(name, func(t *testing.T) {
			clearEnv(t)
			if name != "" {
				t.Setenv(name, "false")
			}
			if got := plain(logs); got != want {
				t.Errorf("without TLS: %v, want %v", got, want)
			}
		})
	}
}
