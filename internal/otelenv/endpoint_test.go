package otelenv

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
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
			if got := plain(logs, func() bool { return true }) != nil; got != want {
				t.Errorf("without TLS: %v, want %v", got, want)
			}
		})
	}
}

// TestCollector: who named no Collector is told which one did not answer.
func TestCollector(t *testing.T) {
	const named = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, c := range map[string]struct{ variable, value, want string }{
		"nothing":  {"OTEL_EXPORTER_OTLP_HEADERS", "a=b", "localhost:4317 (OTEL_EXPORTER_OTLP_ENDPOINT does not say)"},
		"HTTP":     {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", "localhost:4318 (OTEL_EXPORTER_OTLP_ENDPOINT does not say)"},
		"all":      {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317", named},
		"a signal": {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://collector:4317", named},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnv(t)
			t.Setenv(c.variable, c.value)
			if got := collector(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestTargetOfGRPC: an endpoint that is no URL, which gRPC takes, is where all
// signals go to, and those that are to have TLS have it.
func TestTargetOfGRPC(t *testing.T) {
	const tls = "\x16\x03" // how a handshake begins
	for name, c := range map[string]struct{ network, insecure, want string }{
		"a socket":          {"unix", "", "PR"},
		"a socket with TLS": {"unix", "false", tls},
		"a host":            {"tcp", "", tls},
		"a host without":    {"tcp", "true", "PR"}, // HTTP/2
	} {
		for _, s := range []signal{metrics, logs, traces} {
			t.Run(name+"/"+string(s), func(t *testing.T) {
				clearEnv(t)
				l, endpoint := listen(t, c.network)
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
				t.Setenv("OTEL_EXPORTER_OTLP_INSECURE", c.insecure)
				if got := firstBytes(t, l, s); got != c.want {
					t.Errorf("a connection begins with %q, want %q", got, c.want)
				}
			})
		}
	}
}

// listen returns who listens, and his name for gRPC.
func listen(t *testing.T, network string) (l net.Listener, endpoint string) {
	t.Helper()
	address := "localhost:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "otlp")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if network == "unix" {
		return l, "unix://" + address
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return l, "localhost:" + port
}

// firstBytes exports one signal, and returns what comes first.
func firstBytes(t *testing.T, l net.Listener, s signal) string {
	t.Helper()
	first := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return // it is closed
		}
		defer func() { _ = conn.Close() }()
		b := make([]byte, 2)
		_, _ = io.ReadFull(conn, b) // what is missing shows
		first <- string(b)
	}()
	for _, other := range []signal{metrics, logs, traces} {
		if other != s {
			t.Setenv("OTEL_"+string(other)+"_EXPORTER", "none")
		}
	}
	for _, name := range []string{"OTEL_BLRP_SCHEDULE_DELAY", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_METRIC_EXPORT_INTERVAL"} {
		t.Setenv(name, "10")
	}
	p := start(t, Options{Traces: true})
	p.limit = 100 * time.Millisecond
	defer func() { _ = p.Shutdown(context.Background()) }() // nobody answers
	switch s {
	case logs:
		emit(p, 1)
	case traces:
		_, span := p.Tracer.Tracer("test").Start(context.Background(), "test")
		span.End()
	}
	select {
	case got := <-first:
		return got
	case <-time.After(3 * time.Minute):
		return "nobody came"
	}
}
