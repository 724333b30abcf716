package otelenv

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

type signal string

const (
	metrics signal = "METRICS"
	logs    signal = "LOGS"
	traces  signal = "TRACES"
)

type protocol uint8

const (
	none protocol = iota
	grpc
	http
)

// ports are the default ports of OTLP.
var ports = [...]string{grpc: "4317", http: "4318"}

func env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// variableOf returns the variable that sets something of a signal: its own, or that
// of all.
func variableOf(s signal, what string) (name, value string) {
	name = "OTEL_EXPORTER_OTLP_" + string(s) + "_" + what
	if env(name) == "" {
		name = "OTEL_EXPORTER_OTLP_" + what
	}
	return name, env(name)
}

// size returns the positive number that name holds, else otherwise: what the
// SDK does with it too.
func size(name string, otherwise int) int {
	if n, err := strconv.Atoi(env(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// protocolOf returns how s is to be exported.
func protocolOf(s signal) (protocol, error) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") { // by the specification every other value means false
		return none, nil
	}
	name := "OTEL_" + string(s) + "_EXPORTER"
	switch v := env(name); v {
	case "", "otlp":
	case "none":
		return none, nil
	default:
		return none, fmt.Errorf("read %s: %q is neither otlp nor none", name, v)
	}
	switch name, v := variableOf(s, "PROTOCOL"); v {
	case "", "grpc":
		return grpc, checkEndpoint(s, grpc)
	case "http/protobuf":
		return http, checkEndpoint(s, http)
	default:
		return none, fmt.Errorf("read %s: %q is neither grpc nor http/protobuf", name, v)
	}
}

// checkEndpoint refuses an endpoint that nothing can ever be exported to: the SDK
// takes it, and says nothing but that there is no answer.
func checkEndpoint(s signal, p protocol) error {
	name, v := variableOf(s, "ENDPOINT")
	u, err := url.Parse(v)
	switch {
	case v == "":
		return nil
	case err != nil || strings.ContainsAny(v, " \t"):
	case isHTTP(u) && u.Host != "":
		return nil
	case p == grpc && !isHTTP(u): // a target of gRPC, such as host:4317 or unix:///run/otel.sock
		return nil
	}
	return fmt.Errorf("read %s: %q is no endpoint: want one such as http://localhost:%s", name, v, ports[p])
}

func isHTTP(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" } // Parse lowers it

// collector names where signals go to: by the variable that says so, or, where none
// does, by what they go to then, which its user may never have heard of.
func collector() string {
	port := ports[grpc]
	for _, s := range []signal{metrics, logs, traces} {
		if _, endpoint := variableOf(s, "ENDPOINT"); endpoint != "" {
			return "OTEL_EXPORTER_OTLP_ENDPOINT"
		}
		if p, err := protocolOf(s); err == nil && p == http {
			port = ports[http]
		}
	}
	return "localhost:" + port + " (OTEL_EXPORTER_OTLP_ENDPOINT does not say)"
}

// exporterOf makes the exporter of a signal by its protocol. It reports false where it
// is not to be exported.
func exporterOf[E any](s signal, byGRPC, byHTTP func() (E, error)) (e E, ok bool, err error) {
	switch p, err := protocolOf(s); {
	case err != nil || p == none:
		return e, false, err
	case p == http:
		byGRPC = byHTTP
	}
	if e, err = byGRPC(); err != nil {
		return e, false, fmt.Errorf("make exporter of %s: %w", strings.ToLower(string(s)), err)
	}
	return e, true, nil
}

func metricExporter(ctx context.Context) (sdkmetric.Exporter, bool, error) {
	return exporterOf(metrics, func() (sdkmetric.Exporter, error) {
		return otlpmetricgrpc.New(ctx, plain(metrics, otlpmetricgrpc.WithInsecure)...)
	}, func() (sdkmetric.Exporter, error) {
		return otlpmetrichttp.New(ctx, plain(metrics, otlpmetrichttp.WithInsecure)...)
	})
}

func logExporter(ctx context.Context) (sdklog.Exporter, bool, error) {
	return exporterOf(logs, func() (sdklog.Exporter, error) {
		return otlploggrpc.New(ctx, append(plain(logs, otlploggrpc.WithInsecure), logTarget()...)...)
	}, func() (sdklog.Exporter, error) {
		return otlploghttp.New(ctx, plain(logs, otlploghttp.WithInsecure)...)
	})
}

func spanExporter(ctx context.Context) (sdktrace.SpanExporter, bool, error) {
	return exporterOf(traces, func() (sdktrace.SpanExporter, error) {
		return otlptracegrpc.New(ctx, plain(traces, otlptracegrpc.WithInsecure)...)
	}, func() (sdktrace.SpanExporter, error) {
		return otlptracehttp.New(ctx, plain(traces, otlptracehttp.WithInsecure)...)
	})
}

// plain returns the option that turns TLS off, where the environment says nothing of
// TLS nor of where to: by the specification the default is http://localhost:4317 (or
// :4318), and the Go SDK takes https, which no Collector speaks that was just started on
// this machine. All else the SDK reads from the environment.
func plain[O any](s signal, insecure func() O) []O {
	for _, what := range []string{"ENDPOINT", "INSECURE", "CERTIFICATE", "CLIENT_CERTIFICATE"} {
		if _, v := variableOf(s, what); v != "" {
			return nil
		}
	}
	return []O{insecure()}
}

// logTarget sets an endpoint that is a target of gRPC and no URL, and whether it has
// TLS, as the SDK's exporters of metrics and spans read both. That of logs takes the
// target for the URL of no host.
func logTarget() []otlploggrpc.Option {
	_, to := variableOf(logs, "ENDPOINT")
	u, err := url.Parse(to)
	if to == "" || err != nil || isHTTP(u) {
		return nil
	}
	_, insecure := variableOf(logs, "INSECURE")
	socket := u.Scheme == "unix" || u.Scheme == "unix-abstract"
	if strings.EqualFold(cmp.Or(insecure, strconv.FormatBool(socket)), "true") {
		return []otlploggrpc.Option{otlploggrpc.WithEndpoint(to), otlploggrpc.WithInsecure()}
	}
	// The first is there for its scheme, which has it take TLS.
	return []otlploggrpc.Option{otlploggrpc.WithEndpointURL("https://localhost"), otlploggrpc.WithEndpoint(to)}
}
