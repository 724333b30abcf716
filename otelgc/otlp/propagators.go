package otlp

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/propagation"
)

// propagatorsEnv names the propagators, by the specification of OpenTelemetry
// (Environment Variable Specification, General SDK Configuration).
const propagatorsEnv = "OTEL_PROPAGATORS"

var errPropagators = errors.New("neither tracecontext, baggage nor none: set it by otel.SetTextMapPropagator after Start")

// propagators returns those that the environment names, tracecontext and baggage if it
// names none that is known. The error says which are not known: by the specification
// such a value is ignored, with a warning.
func propagators() (propagation.TextMapPropagator, error) {
	var list []propagation.TextMapPropagator
	var seen, unknown []string
	for name := range strings.SplitSeq(os.Getenv(propagatorsEnv), ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		switch name {
		case "tracecontext":
			list = append(list, propagation.TraceContext{})
		case "baggage":
			list = append(list, propagation.Baggage{})
		case "none":
			return propagation.NewCompositeTextMapPropagator(), nil
		default:
			unknown = append(unknown, name)
		}
	}
	if len(list) == 0 {
		list = append(list, propagation.TraceContext{}, propagation.Baggage{})
	}
	if len(unknown) > 0 {
		return propagation.NewCompositeTextMapPropagator(list...), fmt.Errorf("read %s: %q: %w", propagatorsEnv, unknown, errPropagators)
	}
	return propagation.NewCompositeTextMapPropagator(list...), nil
}
