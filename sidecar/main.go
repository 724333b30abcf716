// Command otelgc-sidecar watches the machine next to a service: it measures
// when a CPU is taken away, tells the services of the host through a file, and
// exports what it saw by OpenTelemetry. It is no relay: what services export does
// not pass through it. Its commands are in package cli.
package main

import (
	"os"

	"github.com/otelgc/otelgc/sidecar/internal/cli"
	"github.com/otelgc/otelgc/sidecar/internal/demo"

	// For the image, which has no certificates: the roots of a system come first.
	_ "golang.org/x/crypto/x509roots/fallback"
)

func main() {
	// The demo runs this very binary again, as the service it looks at.
	if code, is := demo.Role(); is {
		os.Exit(code)
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
