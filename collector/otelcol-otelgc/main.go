// Command otelcol-otelgc is an OpenTelemetry Collector that holds what the
// configurations of this repository ask for, and nothing else: both tiers of
// collector/deploy are this one binary.
//
// It is built from released modules only. A stock Collector with the same
// components runs the same configuration.
package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/otelcol"

	// For the image, which has no certificates: the roots of a system come first.
	_ "golang.org/x/crypto/x509roots/fallback"
)

// version is that of the Collector modules the binary is built from.
const version = "0.159.0"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "otelcol-otelgc:", err)
		os.Exit(1)
	}
}

// run executes the Collector's own command line: --config FILE, validate,
// components. It returns when the Collector was told to stop.
func run() error {
	set := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{
			Command:     "otelcol-otelgc",
			Description: "OpenTelemetry Collector for otelgc",
			Version:     version,
		},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				// A bare ${NAME} means an environment variable.
				DefaultScheme: "env",
				ProviderFactories: []confmap.ProviderFactory{
					envprovider.NewFactory(),
					fileprovider.NewFactory(),
					yamlprovider.NewFactory(),
				},
			},
		},
	}
	return otelcol.NewCommand(set).Execute()
}
