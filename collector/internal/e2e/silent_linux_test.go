package e2e

import (
	"net"
	"path/filepath"
	"testing"
)

// TestSilentCollector: a service and a sidecar end when they are told to, though who
// takes their connections says nothing, and an export may take an hour.
func TestSilentCollector(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // with it go the connections that wait
	s := &site{grpc: l.Addr().String()}
	hour := "=3600000"
	env := func(service string) []string {
		return append(s.senderEnv(service, "grpc", filepath.Join(t.TempDir(), "board")),
			"OTEL_EXPORTER_OTLP_TIMEOUT"+hour, "OTEL_METRIC_EXPORT_TIMEOUT"+hour, "OTEL_BLRP_EXPORT_TIMEOUT"+hour, "OTEL_BSP_EXPORT_TIMEOUT"+hour)
	}
	app := start(t, env("e2e-http"), programs(t).http, "-addr", "127.0.0.1:0")
	sidecar := start(t, env("e2e-sidecar"), programs(t).sidecar, "run", "--mode", "periodic")
	for range 2 { // each exports by now
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close() // nothing was said on it
	}
	for _, p := range []*process{app, sidecar} {
		p.alive(t)
		p.stop(t)
	}
}
