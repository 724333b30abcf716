package stock

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	config  = "../../../collector-config.yaml"
	version = "0.159.0" // of the distribution
)

// TestOfficial: each component of this Collector is one of the official
// distribution, in the very version, so that what this one can that one can.
func TestOfficial(t *testing.T) {
	official, required := official(t, "otelcol"), required(t)
	all := slices.Concat(names(receivers), names(processors), names(exporters), names(extensions), names(providers))
	for _, module := range all {
		if line := module + " " + required[module]; !slices.Contains(official, line) {
			t.Errorf("%s is not among what the official distribution is made of", line)
		}
	}
}

// TestOurs: all that the distribution otelcol-otelgc has is in otelcol-contrib in
// the same version, but for the connector: configurations without it run there.
func TestOurs(t *testing.T) {
	contrib := official(t, "otelcol-contrib")
	file, err := parser.ParseFile(token.NewFileSet(), "../../otelcol-otelgc/components.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	required := required(t)
	var others []string
	for _, i := range file.Imports {
		module, _ := strconv.Unquote(i.Path.Value)
		if !isComponent.MatchString(module) {
			continue
		}
		if !slices.Contains(contrib, module+" "+required[module]) {
			others = append(others, module)
		}
	}
	if want := []string{"github.com/otelgc/otelgc/collector/stallconnector"}; !slices.Equal(others, want) {
		t.Errorf("not in otelcol-contrib %s: %q, want %q", version, others, want)
	}
}

// isComponent matches the import of a component, but not those of their kinds.
var isComponent = regexp.MustCompile(`/(\w+(receiver|processor|exporter|extension|connector)|storage/\w+)$`)

// required returns the versions that this test is built with: those in go.mod, as
// it lists all modules that are needed.
func required(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 {
			all[f[0]] = f[1]
		}
	}
	return all
}

// official returns the modules of an official distribution, with their versions.
func official(t *testing.T, distribution string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + distribution + "-" + version + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

func names[T any](m map[string]T) (all []string) {
	for name := range m {
		all = append(all, name)
	}
	return all
}

// TestValid: the file is valid as it is, with no variable set. The Collector
// builds its pipelines for that.
func TestValid(t *testing.T) {
	if text, err := collector(t, nil, "validate", "--config", config).CombinedOutput(); err != nil {
		t.Errorf("validate %s: %v\n%s", config, err, text)
	}
}

// TestOursIsNotIn: what names our connector is refused, so this Collector is
// stock.
func TestOursIsNotIn(t *testing.T) {
	text, err := collector(t, nil, "validate", "--config", "../../config.yaml").CombinedOutput()
	if err == nil || !strings.Contains(string(text), `unknown type: "stall"`) {
		t.Errorf("validate: got error %v and\n%s\nwant one about the type stall", err, text)
	}
}
