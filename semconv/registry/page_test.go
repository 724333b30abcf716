package registry

import (
	"bytes"
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"go/format"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated files anew")

//go:embed telemetry.md.tmpl
var pageTemplate string

// TestGenerated fails when a file that is made from the registry is stale; with -update it
// writes it.
func TestGenerated(t *testing.T) {
	r := load(t, readUpstream(t))
	for path, want := range map[string][]byte{
		"../../docs/telemetry.md": page(t, r),
		"../metrics.go":           metricTable(t, r),
		"../semconvtest/table.go": checkTable(t, r),
	} {
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is stale, go generate in semconv/registry writes it anew (-want +got):\n%s", path, diff)
		}
	}
}

func page(t *testing.T, r *registry) []byte {
	t.Helper()
	page := template.Must(template.New("").Funcs(template.FuncMap{
		"metrics": func() []*group { return r.of("metric") },
		"events":  func() []*group { return r.of("event") },
		"group": func(id string) (*group, error) {
			if g := r.group(id); g != nil {
				return g, nil
			}
			return nil, fmt.Errorf("no group %s", id)
		},
		"sections": func() (all []*group) {
			for _, g := range r.of("attribute_group") {
				if g.DisplayName != "" {
					all = append(all, g)
				}
			}
			return all
		},
		"keys": func(g *group) string { return r.shortened(r.keys(g)) },
		"ownKeys": func(g *group) string { // those that not every event has
			common := r.keys(r.group("attributes.otelgc.event"))
			return r.shortened(slices.DeleteFunc(r.keys(g), func(key string) bool { return slices.Contains(common, key) }))
		},
		"typeName": func(a *attribute) string { return typeName(r.attributes[a.key()]) },
		"meaning":  r.meaning,
		"used":     r.used,
	}).Parse(pageTemplate))
	var b bytes.Buffer
	if err := page.Execute(&b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shortened names the attributes of all owners as one.
func (r *registry) shortened(keys []string) string {
	var short []string
	owners := r.keys(&group{Attributes: r.group("attributes.otelgc.stall").Attributes})
	for _, key := range keys {
		if key == owners[0] {
			short = append(short, "otelgc.stall.*")
		}
		if !slices.Contains(owners, key) {
			short = append(short, key)
		}
	}
	return codes(short)
}

// meaning returns what a means, with the values that it may have.
func (r *registry) meaning(a *attribute) string {
	of := r.attributes[a.key()]
	text := oneLine(cmp.Or(a.Brief, of.Brief))
	var values []string
	for _, m := range of.Type.Members {
		value := code(m.Value)
		if brief := strings.TrimSuffix(oneLine(m.Brief), "."); brief != "" {
			value += " (" + brief + ")"
		}
		values = append(values, value)
	}
	if len(values) > 0 {
		text = strings.TrimSpace(text + " Values: " + strings.Join(values, ", ") + ".")
	}
	return text
}

// used returns the attributes of OpenTelemetry that metrics and events have, each as it is
// first referred to.
func (r *registry) used() (all []*attribute) {
	for _, typ := range []string{"attribute_group", "event", "metric"} {
		for _, g := range r.of(typ) {
			for _, a := range g.Attributes {
				if a.Ref != "" && r.attributes[a.Ref].ID == "" && !slices.ContainsFunc(all, func(b *attribute) bool { return b.Ref == a.Ref }) {
					all = append(all, a)
				}
			}
		}
	}
	return all
}

func typeName(a *attribute) string {
	if a.Type.Name == "enum" {
		return "string"
	}
	return a.Type.Name
}

var spaces = regexp.MustCompile(`\s+`)

func oneLine(s string) string { return strings.TrimSpace(spaces.ReplaceAllString(s, " ")) }

func code(s string) string { return "`" + s + "`" }

func codes(names []string) string {
	if len(names) == 0 {
		return "–"
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = code(n)
	}
	return strings.Join(quoted, ", ")
}

// metricTable is what programs need of the registry: what goes out with each metric.
func metricTable(t *testing.T, r *registry) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from semconv/registry by go generate. DO NOT EDIT.\n\npackage semconv\n\nvar metrics = [...]Metric{\n")
	for _, m := range r.of("metric") {
		fmt.Fprintf(&b, "\t{%q, %q, %q, %#v, %q},\n", m.MetricName, m.Instrument, m.Unit, r.keys(m), oneLine(m.Brief))
	}
	return formatted(t, append(b.Bytes(), "}\n"...))
}

// checkTable is what tests need of it: what events and attributes may be.
func checkTable(t *testing.T, r *registry) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from semconv/registry by go generate. DO NOT EDIT.\n\npackage semconvtest\n\n")
	var metrics []string
	for _, m := range r.of("metric") {
		metrics = append(metrics, m.MetricName)
	}
	fmt.Fprintf(&b, "var metrics = %#v\n\nvar events = map[string][]string{\n", metrics)
	seen := map[string]bool{}
	for _, g := range r.groups {
		keys := r.keys(g)
		for _, key := range keys {
			seen[key] = true
		}
		if g.Type == "event" {
			fmt.Fprintf(&b, "\t%q: %#v,\n", g.Name, keys)
		}
	}
	fmt.Fprintf(&b, "}\n\nvar spanKeys = %#v\n\nvar attributes = map[string]attribute{\n", r.keys(r.group("attributes.otelgc.span")))
	var keys []string
	for key := range seen {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		a := r.attributes[key]
		var values []string
		for _, m := range a.Type.Members {
			values = append(values, m.Value)
		}
		list := "nil"
		if len(values) > 0 {
			list = fmt.Sprintf("%#v", values)
		}
		fmt.Fprintf(&b, "\t%s: {%q, %s},\n", strconv.Quote(key), typeName(a), list)
	}
	return formatted(t, append(b.Bytes(), "}\n"...))
}

func formatted(t *testing.T, source []byte) []byte {
	t.Helper()
	out, err := format.Source(source)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	return out
}
