package registry

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// entry has the fields in use of data/registry-schema.json of open-telemetry/opentelemetry.io.
type entry struct {
	Title        string
	RegistryType string `yaml:"registryType"`
	Language     string
	Tags         []string
	License      string
	Description  string
	Authors      []struct{ Name, Email, URL string }
	URLs         struct{ Repo, Website, Docs string } `yaml:"urls"`
	CreatedAt    string                               `yaml:"createdAt"`
	IsNative     bool                                 `yaml:"isNative"`
	IsFirstParty bool                                 `yaml:"isFirstParty"`
	Package      struct{ Registry, Name, Version string }
}

// TestEntries: each entry for OpenTelemetry's list of instrumentations has what its schema
// requires, and names a package that is there, by the version that goes out with telemetry.
func TestEntries(t *testing.T) {
	types := []string{"connector", "instrumentation", "utilities"} // those in use of the schema's
	version := "v" + constants(t, "../../otelgc/doc.go")["Version"]
	paths, err := filepath.Glob("../../docs/registry/*.yml")
	if err != nil || len(paths) != len(types) {
		t.Fatalf("%d entries, %v, want one of each of %q", len(paths), err, types)
	}
	for _, path := range paths {
		var e entry
		decode(t, path, &e)
		i := slices.Index(types, e.RegistryType)
		if i < 0 {
			t.Errorf("%s: a second entry, or none of %q: %q", path, types, e.RegistryType)
			continue
		}
		types = slices.Delete(types, i, i+1)
		if e.Title == "" || e.Description == "" || e.URLs.Repo == "" || len(e.Authors) == 0 || e.License != "Apache 2.0" {
			t.Errorf("%s: a required field is missing", path)
		}
		for _, a := range e.Authors {
			if a.Name == "" || strings.Contains(a.Name, "OpenTelemetry") || !strings.HasPrefix(a.URL, "https://") {
				t.Errorf("%s: the author %q has no name of their own or no URL", path, a.Name)
			}
		}
		if !regexp.MustCompile(`^20\d\d-\d\d-\d\d`).MatchString(e.CreatedAt) {
			t.Errorf("%s: createdAt is %q, want a date", path, e.CreatedAt)
		}
		if want := map[bool]string{true: "go-collector", false: "go"}[e.Language == "collector"]; e.Package.Registry != want {
			t.Errorf("%s: the package registry is %q, want %q", path, e.Package.Registry, want)
		}
		if e.Package.Version != version {
			t.Errorf("%s: got version %q, want %q", path, e.Package.Version, version)
		}
		if dir, ok := dirOf(t, e.Package.Name); !ok {
			t.Errorf("%s: %s is no package of a module here", path, e.Package.Name)
		} else if want := "https://" + rootModule + strings.TrimSuffix("/tree/main/"+dir, "/tree/main/."); e.URLs.Repo != want {
			t.Errorf("%s: got repository %q, want %q", path, e.URLs.Repo, want)
		}
	}
}

const rootModule = "github.com/otelgc/otelgc"

// dirOf returns the directory of a package or module, and whether the module that it lies
// in has the path that its import path begins with.
func dirOf(t *testing.T, pkg string) (string, bool) {
	t.Helper()
	dir, err := filepath.Rel(rootModule, pkg)
	if err != nil || !filepath.IsLocal(dir) {
		return "", false
	}
	if files, err := filepath.Glob(filepath.Join("../..", dir, "*")); err != nil || len(files) == 0 {
		return "", false
	}
	for module := dir; ; module = filepath.Dir(module) {
		text, err := os.ReadFile(filepath.Join("../..", module, "go.mod"))
		if err == nil {
			return dir, first(regexp.MustCompile(`(?m)^module (.*)$`), string(text)) == filepath.ToSlash(filepath.Join(rootModule, module))
		}
		if module == "." {
			return "", false
		}
	}
}

// TestProposal: every figure of the arguments in docs/proposal.md is on a page that its
// paragraph links to.
func TestProposal(t *testing.T) {
	text, err := os.ReadFile("../../docs/proposal.md")
	if err != nil {
		t.Fatal(err)
	}
	_, arguments, ok := strings.Cut(string(text), "## What argues for it\n")
	arguments, _, end := strings.Cut(arguments, "\n## ")
	if !ok || !end {
		t.Fatal("docs/proposal.md has no arguments")
	}
	link, figure := regexp.MustCompile(`\]\((accuracy/[a-z-]+\.md)\)`), regexp.MustCompile(`\d[\d,]*(\.\d+)?`)
	for paragraph := range strings.SplitSeq(arguments, "\n- ") {
		var pages strings.Builder
		for _, l := range link.FindAllStringSubmatch(paragraph, -1) {
			page, err := os.ReadFile(filepath.Join("../../docs", l[1]))
			if err != nil {
				t.Error(err)
			}
			pages.Write(page)
		}
		has := figure.FindAllString(pages.String(), -1)
		for _, f := range figure.FindAllString(link.ReplaceAllString(paragraph, ""), -1) {
			if !slices.Contains(has, strings.TrimSuffix(f, ",")) {
				t.Errorf("%q is on no page that its paragraph links to:%s", f, paragraph)
			}
		}
	}
}
