package registry

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// registry is what the files say, in their order, with what groups extend.
type registry struct {
	groups     []*group
	attributes map[string]*attribute // by their ids, those of OpenTelemetry too
}

// group has the fields that otelgc uses of weaver's schemas/semconv-syntax.md. Unknown
// fields are an error, as for weaver.
type group struct {
	ID          string
	Type        string
	Name        string
	MetricName  string `yaml:"metric_name"`
	Extends     string
	DisplayName string `yaml:"display_name"`
	Brief, Note string
	Stability   string
	Instrument  string
	Unit        string
	Deprecated  *deprecated
	Attributes  []*attribute
	Annotations struct {
		NamingConventions struct {
			PolicyExceptions []string `yaml:"policy_exceptions"`
		} `yaml:"naming_conventions"`
	}
}

type attribute struct {
	ID, Ref          string
	Type             attributeType
	Brief, Note      string
	Stability        string
	Examples         []any
	RequirementLevel any `yaml:"requirement_level"`
	Role             string
	Deprecated       *deprecated
}

type deprecated struct {
	Reason    string
	RenamedTo string `yaml:"renamed_to"`
	Note      string
}

// attributeType is the name of a type or, of an enumeration, "enum" and its members.
type attributeType struct {
	Name    string
	Members []member
}

type member struct {
	ID, Value, Brief, Stability string
	Deprecated                  *deprecated
}

func (t *attributeType) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		t.Name = n.Value
		return nil
	}
	var enum struct{ Members []member }
	err := n.Decode(&enum)
	t.Name, t.Members = "enum", enum.Members
	return err
}

// key returns the name of a, whether it is defined here or referred to.
func (a *attribute) key() string { return a.ID + a.Ref }

// decode reads a file of which every field is known.
func decode(t *testing.T, path string, to any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(to); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		t.Fatalf("%s: more than one document (%v)", path, err)
	}
}

// load reads the registry. What it refers to of OpenTelemetry is up.
func load(t *testing.T, up *upstream) *registry {
	t.Helper()
	paths, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := &registry{attributes: maps.Clone(up.attributes)}
	for _, path := range paths {
		if path == "manifest.yaml" {
			continue
		}
		var file struct{ Groups []*group }
		decode(t, path, &file)
		r.groups = append(r.groups, file.Groups...)
	}
	for _, g := range r.groups {
		for _, a := range g.Attributes {
			if a.ID == "" {
				continue
			}
			if _, twice := r.attributes[a.ID]; twice {
				t.Errorf("attribute %s is defined twice, or OpenTelemetry has it", a.ID)
			}
			r.attributes[a.ID] = a
		}
	}
	return r
}

// of returns the groups of one type, by name.
func (r *registry) of(typ string) (all []*group) {
	for _, g := range r.groups {
		if g.Type == typ {
			all = append(all, g)
		}
	}
	slices.SortStableFunc(all, func(a, b *group) int { return strings.Compare(a.MetricName, b.MetricName) })
	return all
}

// group returns the group of an id, nil if there is none here.
func (r *registry) group(id string) *group {
	for _, g := range r.groups {
		if g.ID == id {
			return g
		}
	}
	return nil
}

// keys returns the attributes of g: those of the groups of ours that it extends, then its
// own.
func (r *registry) keys(g *group) (keys []string) {
	if base := r.group(g.Extends); base != nil {
		keys = r.keys(base)
	}
	for _, a := range g.Attributes {
		keys = append(keys, a.key())
	}
	return keys
}

// defined returns the attributes that the registry itself defines, in the order of the
// files.
func (r *registry) defined() (all []*attribute) {
	for _, g := range r.groups {
		for _, a := range g.Attributes {
			if a.ID != "" {
				all = append(all, a)
			}
		}
	}
	return all
}
