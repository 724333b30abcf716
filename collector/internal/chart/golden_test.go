package chart

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write charts/otelgc/examples anew")

// remarks are the lines of a document that are nothing but a comment.
var remarks = regexp.MustCompile(`(?m)^ *#.*\n|^\s*\n`)

// TestGolden: charts/otelgc/examples has what the chart renders, for each NAME.values.yaml
// there in NAME.yaml, without comments, and without the ConfigMaps, which are the files of
// charts/otelgc/config. Of the features of the sidecar it has the sidecar alone.
//
//	go test -run Golden . -update
func TestGolden(t *testing.T) {
	const suffix = ".values.yaml"
	files, err := filepath.Glob(chartDir + "examples/*" + suffix)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, suffix)
		templates, err := rendered(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, template := range sortedKeys(templates) {
			if filepath.Base(name) != "default" && template != "sidecar.yaml" {
				continue
			}
			for _, doc := range split(templates[template]) {
				if text := remarks.ReplaceAllString(string(doc), ""); !strings.Contains(text, "kind: ConfigMap") {
					want = append(want, strings.TrimSpace(text)+"\n")
				}
			}
		}
		text := "# Made of " + filepath.Base(file) + " by go test -run Golden . -update, in collector/internal/chart\n" + strings.Join(want, "---\n")
		if *update {
			if err := os.WriteFile(name+".yaml", []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(text, read(t, name+".yaml")); diff != "" {
			t.Errorf("%s.yaml is not what the chart renders: go test -run Golden . -update (-want +got):\n%s", name, diff)
		}
	}
}
