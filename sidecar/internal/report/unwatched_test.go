package report

import (
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/recording"
)

// TestUnwatchedTarget: a process of which only settings are known has a runtime
// line, and no table of collections that says that there were none.
func TestUnwatchedTarget(t *testing.T) {
	list := experiment(3)
	v := goTarget()
	v.Facts["GOGC"] = "100 as started"
	v.Facts[recording.FactBuild] = "example.com/orders v1.2.3, GOARCH=amd64"
	v.Unwatched = "it is a Go program\x1b[31m"
	kept := []recording.Record{list[0], v}
	for _, r := range list[2:] {
		if _, is := r.(recording.Collection); !is {
			kept = append(kept, r)
		}
	}
	r := readExperiment(t, kept, Options{Warmup: warmup})
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{
		"NOT REPRODUCIBLE: the collections of process 42 were not watched: it is a Go program?[31m",
		"process 42: go: version go1.26.8; GOGC 100 as started;",
		"build example.com/orders v1.2.3, GOARCH=amd64",
		"PROCESS 42 orders its collections were not watched: it is a Go program",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(got, "no collection occurred") {
		t.Errorf("the report claims what nobody watched:\n%s", text.String())
	}
	if x := r.Experiment; len(x.Pauses) != 0 || len(x.Targets) != 1 || x.Targets[0].Unwatched == "" {
		t.Errorf("document: pauses %v of %+v, want none, and why", x.Pauses, x.Targets)
	}
}
