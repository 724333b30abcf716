// Package otelenv makes OpenTelemetry providers with OTLP exporters from the
// OTEL_* environment, for a program that has none.
//
// What the SDK reads itself stays its own: OTEL_EXPORTER_OTLP_ENDPOINT,
// _HEADERS, _TIMEOUT and so on with their variants per signal,
// OTEL_METRIC_EXPORT_INTERVAL, OTEL_BLRP_*, OTEL_BSP_*, OTEL_TRACES_SAMPLER.
// Where nobody says where to, that is http://localhost:4317 (gRPC) or :4318, without
// TLS, as the specification has it and the SDK has not. The package reads what
// chooses between them:
//
//   - OTEL_SDK_DISABLED: true for providers that record nothing
//   - OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_{METRICS,LOGS,TRACES}_PROTOCOL:
//     grpc (default) or http/protobuf
//   - OTEL_METRICS_EXPORTER, OTEL_LOGS_EXPORTER, OTEL_TRACES_EXPORTER: otlp
//     (default) or none
//   - OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
//
// A Collector that is dead or slow costs records, never time or memory: queues
// are bounded, [Providers.Shutdown] has a limit, and what was lost is counted
// and exported as otelgc.monitor.dropped. Nothing global is set or read but the
// environment.
package otelenv
