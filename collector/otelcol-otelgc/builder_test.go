package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersions: builder.yaml, by which others build this distribution, has the versions
// that it is built with and tested here.
func TestVersions(t *testing.T) {
	required := map[string]string{}
	for line := range strings.Lines(read(t, "../go.mod")) {
		if f := strings.Fields(line); len(f) >= 2 {
			required[f[0]] = f[1]
		}
	}
	config := read(t, "builder.yaml")
	want, got := map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`gomod: (\S+) (\S+)`).FindAllStringSubmatch(config, -1) {
		if m[1] != required["module"] {
			want[m[1]], got[m[1]] = required[m[1]], m[2]
		}
	}
	// The builder takes the Collector itself in the version that it has.
	const collector, builder = "go.opentelemetry.io/collector/otelcol", "go.opentelemetry.io/collector/cmd/builder"
	for what, pattern := range map[string]string{
		"the builder that is installed":                 builder + `@(\S+)`,
		"the version that the distribution says it has": `  version: (\S+)`,
	} {
		want[what], got[what] = required[collector], ""
		if m := regexp.MustCompile(pattern).FindStringSubmatch(config); m != nil {
			got[what] = "v" + strings.TrimPrefix(m[1], "v")
		}
	}
	const generator = "the builder that makes these sources"
	want[generator], got[generator] = builder+" "+required[collector], ""
	if tools := read(t, "../internal/tools/go.mod"); strings.Contains(tools, want[generator]+" ") {
		got[generator] = want[generator]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("builder.yaml (-want, of go.mod +got):\n%s", diff)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
