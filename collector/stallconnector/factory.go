package stallconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"

	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadata"
)

// NewFactory returns the factory of the connector. Instances that it makes of
// one component id share their state; those of another factory do not.
func NewFactory() connector.Factory {
	all := &states{of: make(map[component.ID]*state)}
	return connector.NewFactory(
		metadata.Type, createDefaultConfig,
		connector.WithTracesToTraces(func(_ context.Context, s connector.Settings, c component.Config, next consumer.Traces) (connector.Traces, error) {
			return all.instance(s, c, outputs{traces: next})
		}, metadata.TracesToTracesStability),
		connector.WithTracesToMetrics(func(_ context.Context, s connector.Settings, c component.Config, next consumer.Metrics) (connector.Traces, error) {
			return all.instance(s, c, outputs{metrics: next})
		}, metadata.TracesToMetricsStability),
		connector.WithTracesToLogs(func(_ context.Context, s connector.Settings, c component.Config, next consumer.Logs) (connector.Traces, error) {
			return all.instance(s, c, outputs{logs: next})
		}, metadata.TracesToLogsStability),
		// What events lead to leaves by the instances above: these only learn.
		connector.WithLogsToTraces(func(_ context.Context, s connector.Settings, c component.Config, _ consumer.Traces) (connector.Logs, error) {
			return all.instance(s, c, outputs{})
		}, metadata.LogsToTracesStability),
		connector.WithLogsToMetrics(func(_ context.Context, s connector.Settings, c component.Config, _ consumer.Metrics) (connector.Logs, error) {
			return all.instance(s, c, outputs{})
		}, metadata.LogsToMetricsStability),
		connector.WithLogsToLogs(func(_ context.Context, s connector.Settings, c component.Config, _ consumer.Logs) (connector.Logs, error) {
			return all.instance(s, c, outputs{})
		}, metadata.LogsToLogsStability),
	)
}
