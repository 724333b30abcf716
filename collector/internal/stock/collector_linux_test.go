package stock

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/healthcheckextension"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// asCollector makes a process of this test binary a Collector.
const asCollector = "TEST_AS_COLLECTOR"

func TestMain(m *testing.M) {
	if os.Getenv(asCollector) == "" {
		os.Exit(m.Run())
	}
	if err := otelcol.NewCommand(settings()).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The components of the Collector, by their modules.
var (
	receivers = map[string]receiver.Factory{
		"go.opentelemetry.io/collector/receiver/otlpreceiver": otlpreceiver.NewFactory(),
	}
	processors = map[string]processor.Factory{
		"go.opentelemetry.io/collector/processor/batchprocessor":         batchprocessor.NewFactory(),
		"go.opentelemetry.io/collector/processor/memorylimiterprocessor": memorylimiterprocessor.NewFactory(),
	}
	exporters = map[string]exporter.Factory{
		"go.opentelemetry.io/collector/exporter/debugexporter":                                  debugexporter.NewFactory(),
		"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter":       fileexporter.NewFactory(),
		"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusexporter": prometheusexporter.NewFactory(),
	}
	extensions = map[string]extension.Factory{
		"github.com/open-telemetry/opentelemetry-collector-contrib/extension/healthcheckextension": healthcheckextension.NewFactory(),
	}
	providers = map[string]confmap.ProviderFactory{
		"go.opentelemetry.io/collector/confmap/provider/envprovider":  envprovider.NewFactory(),
		"go.opentelemetry.io/collector/confmap/provider/fileprovider": fileprovider.NewFactory(),
	}
)

// settings are those that the official distributions are built with, but for what
// they hold.
func settings() otelcol.CollectorSettings {
	return otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Description: "OpenTelemetry Collector", Version: version},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{ProviderFactories: values(providers), DefaultScheme: "env"},
		},
	}
}

func factories() (f otelcol.Factories, err error) {
	var errs [4]error
	f.Receivers, errs[0] = otelcol.MakeFactoryMap(values(receivers)...)
	f.Processors, errs[1] = otelcol.MakeFactoryMap(values(processors)...)
	f.Exporters, errs[2] = otelcol.MakeFactoryMap(values(exporters)...)
	f.Extensions, errs[3] = otelcol.MakeFactoryMap(values(extensions)...)
	f.Telemetry = otelconftelemetry.NewFactory()
	return f, errors.Join(errs[:]...)
}

func values[T any](m map[string]T) (all []T) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}
