package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
)

// TestSayStats has as many events of one kind as of another.
func TestSayStats(t *testing.T) {
	b := dotnetBuilder{Report: &Report{Source: Source{PID: 42}}, others: 3}
	b.sayStats(nettrace.Stats{Untyped: 3}, dotnetgc.Stats{})
	var got []string
	for _, h := range b.Incomplete {
		got = append(got, h.Why)
	}
	want := []string{
		"3 events of other processes than 42, left out",
		"3 events of a type that the file does not define",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("holes (-want +got):\n%s", diff)
	}
}
