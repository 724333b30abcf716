package otelenv

import (
	"fmt"
	"net/url"
	"strings"
)

// checkEndpoint refuses an endpoint that nothing can ever be exported to: the SDK
// takes it, and says nothing but that nobody answers.
func checkEndpoint(s signal, p protocol) error {
	name := "OTEL_EXPORTER_OTLP_" + string(s) + "_ENDPOINT"
	if env(name) == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	v := env(name)
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	isHTTP := err == nil && (strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https"))
	switch {
	case err != nil || strings.ContainsAny(v, " \t"):
	case isHTTP && u.Host != "":
		return nil
	case p == grpc && !isHTTP: // a target of gRPC, such as host:4317 or unix:///run/otel.sock
		return nil
	}
	port := "4317"
	if p == http {
		port = "4318"
	}
	return fmt.Errorf("read %s: %q is no endpoint: want one such as http://localhost:%s", name, v, port)
}

// plain reports whether s goes out without TLS though nobody says so: by the
// specification the default is http://localhost:4317 (or :4318), and the Go SDK
// takes https, which no Collector speaks that was just started on this machine.
func plain(s signal) bool {
	for _, name := range []string{"ENDPOINT", "INSECURE", "CERTIFICATE", "CLIENT_CERTIFICATE"} {
		if env("OTEL_EXPORTER_OTLP_"+name) != "" || env("OTEL_EXPORTER_OTLP_"+string(s)+"_"+name) != "" {
			return false
		}
	}
	return true
}
