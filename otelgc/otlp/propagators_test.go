package otlp

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPropagators: what the environment names, once each; what is not known is said
// and left out.
func TestPropagators(t *testing.T) {
	usual := []string{"baggage", "traceparent", "tracestate"}
	for text, c := range map[string]struct {
		fields []string
		err    string
	}{
		"":                             {fields: usual},
		" , ":                          {fields: usual},
		"tracecontext,baggage":         {fields: usual},
		"baggage":                      {fields: []string{"baggage"}},
		" tracecontext , tracecontext": {fields: []string{"traceparent", "tracestate"}},
		"none":                         {},
		"baggage,none":                 {},
		"b3":                           {fields: usual, err: `read OTEL_PROPAGATORS: ["b3"]: neither tracecontext, baggage nor none: set it by otel.SetTextMapPropagator after Start`},
		"xray,baggage,b3":              {fields: []string{"baggage"}, err: `read OTEL_PROPAGATORS: ["xray" "b3"]: neither tracecontext, baggage nor none: set it by otel.SetTextMapPropagator after Start`},
	} {
		t.Setenv(propagatorsEnv, text)
		p, err := propagators()
		fields := p.Fields()
		slices.Sort(fields)
		if len(fields) == 0 {
			fields = nil
		}
		said := ""
		if err != nil {
			said = err.Error()
		}
		if diff := cmp.Diff([]any{c.fields, c.err}, []any{fields, said}); diff != "" {
			t.Errorf("%q: fields, error (-want +got):\n%s", text, diff)
		}
	}
}
