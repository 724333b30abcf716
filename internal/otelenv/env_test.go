package otelenv

import (
	"os"
	"strings"
	"testing"
)

// clearEnv takes every OTEL_* variable away for the time of the test.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "") // restores it
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestProtocolOf(t *testing.T) {
	type vars map[string]string
	for name, c := range map[string]struct {
		env  vars
		want [3]protocol // metrics, logs, traces
		err  string
	}{
		"default":    {want: [3]protocol{grpc, grpc, grpc}},
		"http":       {env: vars{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, want: [3]protocol{http, http, http}},
		"per signal": {env: vars{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "grpc"}, want: [3]protocol{http, grpc, http}},
		"none":       {env: vars{"OTEL_TRACES_EXPORTER": "none", "OTEL_LOGS_EXPORTER": " otlp "}, want: [3]protocol{grpc, grpc, none}},
		"json":       {env: vars{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, err: `read OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" is neither grpc nor http/protobuf`},
		"endpoint":   {env: vars{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector:4317"}, want: [3]protocol{grpc, grpc, grpc}},
		"target":     {env: vars{"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, want: [3]protocol{grpc, grpc, grpc}},
		"socket":     {env: vars{"OTEL_EXPORTER_OTLP_ENDPOINT": "unix:///run/otel.sock"}, want: [3]protocol{grpc, grpc, grpc}},
		"no URL":     {env: vars{"OTEL_EXPORTER_OTLP_ENDPOINT": "not a url"}, err: `read OTEL_EXPORTER_OTLP_ENDPOINT: "not a url" is no endpoint: want one such as http://localhost:4317`},
		"no host":    {env: vars{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://"}, err: `read OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://" is no endpoint: want one such as http://localhost:4317`},
		"broken":     {env: vars{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1"}, err: `read OTEL_EXPORTER_OTLP_ENDPOINT: "http://[::1" is no endpoint: want one such as http://localhost:4317`},
		"no scheme": {
			env: vars{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"},
			err: `read OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" is no endpoint: want one such as http://localhost:4318`,
		},
		"console": {env: vars{"OTEL_METRICS_EXPORTER": "console"}, err: `read OTEL_METRICS_EXPORTER: "console" is neither otlp nor none`},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnv(t)
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			var got [3]protocol
			for i, s := range []signal{metrics, logs, traces} {
				p, err := protocolOf(s)
				if err != nil {
					if err.Error() != c.err {
						t.Fatalf("got error %q, want %q", err, c.err)
					}
					return
				}
				got[i] = p
			}
			if c.err != "" || got != c.want {
				t.Errorf("got %v, want %v, error %q", got, c.want, c.err)
			}
		})
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int{"": 7, "12": 12, "0": 7, "-3": 7, "many": 7, "99999999999999999999": 7} {
		t.Setenv("OTEL_BLRP_MAX_QUEUE_SIZE", text)
		if got := size("OTEL_BLRP_MAX_QUEUE_SIZE", 7); got != want {
			t.Errorf("size of %q: got %d, want %d", text, got, want)
		}
	}
}
