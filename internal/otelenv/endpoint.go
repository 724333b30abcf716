package otelenv

import (
	"fmt"
	"net/url"
	"strings"
)

// checkEndpoint refuses an endpoint that nothing can ever be exported to: the SDK
// takes it, and says nothing but that nobody answers.
func checkEndpoint(s signal, p protocol) error {
	name, v := variableOf(s, "ENDPOINT")
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	switch {
	case err != nil || strings.ContainsAny(v, " \t"):
	case isHTTP(u) && u.Host != "":
		return nil
	case p == grpc && !isHTTP(u): // a target of gRPC, such as host:4317 or unix:///run/otel.sock
		return nil
	}
	port := "4317"
	if p == http {
		port = "4318"
	}
	return fmt.Errorf("read %s: %q is no endpoint: want one such as http://localhost:%s", name, v, port)
}

// collector names where signals go to: by the variable that says so, or, where none
// does, by what they go to then, which its user may never have heard of.
func collector() string {
	port, said := "4317", false
	for _, s := range []signal{metrics, logs, traces} {
		_, endpoint := variableOf(s, "ENDPOINT")
		said = said || endpoint != ""
		if p, err := protocolOf(s); err == nil && p == http {
			port = "4318"
		}
	}
	if said {
		return "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	return "localhost:" + port + " (OTEL_EXPORTER_OTLP_ENDPOINT does not say)"
}

// variableOf returns the variable that says something of a signal: its own, or that
// of all.
func variableOf(s signal, what string) (name, value string) {
	name = "OTEL_EXPORTER_OTLP_" + string(s) + "_" + what
	if env(name) == "" {
		name = "OTEL_EXPORTER_OTLP_" + what
	}
	return name, env(name)
}

func isHTTP(u *url.URL) bool {
	return strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https")
}

// target returns the target of gRPC that s goes to, and whether without TLS, as the
// SDK's exporters of metrics and spans read both. That of logs takes the target for
// the URL of no host.
func target(s signal) (to string, insecure, ok bool) {
	_, v := variableOf(s, "ENDPOINT")
	u, err := url.Parse(v)
	if v == "" || err != nil || isHTTP(u) {
		return "", false, false
	}
	insecure = u.Scheme == "unix" || u.Scheme == "unix-abstract"
	if _, said := variableOf(s, "INSECURE"); said != "" {
		insecure = strings.EqualFold(said, "true")
	}
	return v, insecure, true
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
