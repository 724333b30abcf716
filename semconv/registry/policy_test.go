package registry

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "go.opentelemetry.io/otel/semconv/v1.43.0" // upstream_test.go reads its source
)

// contract are the findings that stay: these names are in use, and a name that changed
// would break dashboards for the sake of a rule. The patterns are those of [path.Match].
var contract = []struct{ rule, name, why string }{
	{"attribute_namespace", "otelgc.estimated", "and otelgc.estimated.fields"},
	{"attribute_namespace", "otelgc.gc.generations", "the arrays beside it have its prefix"},
	{"attribute_namespace", "otelgc.stall.sched", "the names of causes are a closed list, sched and sched.gc among them"},
	{"metric_brief", "dotnet.gc.pause.duration", "the text goes out with the metric"},
	{"plural", "otelgc.gc.generations.*", "columns of one table, each named for one generation"},
	{"plural", "otelgc.pause.*", "columns of one table, each named for one pause"},
	{"plural", "otelgc.unseen.*", "columns of one table, each named for one span"},
	{"prefix", "dotnet.gc.pause.duration", "proposed to OpenTelemetry: docs/proposal.md"},
	{"prefix", "gc.heap.generation", "proposed to OpenTelemetry: docs/proposal.md"},
	{"prefix", "gc.pause.type", "proposed to OpenTelemetry: docs/proposal.md"},
}

// TestPolicies holds the registry to the rules that `weaver registry check` holds
// OpenTelemetry's own to.
func TestPolicies(t *testing.T) {
	up := readUpstream(t)
	r := load(t, up)
	used := make([]bool, len(contract))
	for _, f := range check(r, up) {
		i := slices.IndexFunc(contract, func(c struct{ rule, name, why string }) bool {
			match, err := path.Match(c.name, f.name)
			return c.rule == f.rule && match && err == nil
		})
		if i < 0 {
			t.Errorf("%s: %s %s", f.rule, f.name, f.text)
			continue
		}
		used[i] = true
	}
	for i, c := range contract {
		if !used[i] {
			t.Errorf("%s of %s is no finding any more: take it out of the list", c.rule, c.name)
		}
	}
}

// finding is one rule that one name breaks.
type finding struct{ rule, name, text string }

// check returns what breaks a rule. Each rule names its source: "weaver" is
// open-telemetry/weaver, "packages" policies/check of open-telemetry/opentelemetry-weaver-packages,
// "semconv" open-telemetry/semantic-conventions.
func check(r *registry, up *upstream) (all []finding) {
	c := &checker{r: r, up: up}
	c.groups()
	c.attributes()
	c.collisions()
	for _, m := range r.of("metric") {
		c.metric(m)
	}
	return c.found
}

type checker struct {
	r     *registry
	up    *upstream
	found []finding
}

func (c *checker) add(bad bool, rule, name, text string) {
	if bad {
		c.found = append(c.found, finding{rule, name, text})
	}
}

var (
	// packages: naming_conventions/names.rego, name_regex.
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*([._][a-z0-9]+)*$`)
	// The units in use of UCUM, and annotations: semconv docs/general/metrics.md, "Instrument units".
	unitForm   = regexp.MustCompile(`^(s|By|1|\{[a-z]+(_[a-z]+)*\})$`)
	groupTypes = []string{"attribute_group", "metric", "event", "entity", "span"}
	ranks      = []string{"", "development", "alpha", "beta", "release_candidate", "stable"}
	types      = []string{"string", "int", "double", "boolean", "string[]", "int[]", "double[]", "boolean[]", "enum"}
)

// name returns the name that g gives to a signal.
func (g *group) name() string { return g.MetricName + g.Name }

func (c *checker) groups() {
	ids := map[string]bool{}
	for _, g := range c.r.groups {
		signal := g.Type != "attribute_group"
		// weaver: schemas/semconv-syntax.md and crates/weaver_semconv/src/group.rs.
		c.add(ids[g.ID], "group_id", g.ID, "is there twice")
		ids[g.ID] = true
		c.add(!slices.Contains(groupTypes, g.Type), "group_type", g.ID, "is of no known type")
		c.add(signal && g.name() == "", "signal_name", g.ID, "has no name")
		c.add(g.Type != "metric" && g.Type != "event" && g.Extends == "" && len(g.Attributes) == 0, "group_empty", g.ID, "has no attributes")
		c.add(g.Extends != "" && c.r.group(g.Extends) == nil && c.up.metrics[g.Extends] == nil, "extends", g.ID, "extends what is not there")
		seen := map[string]bool{}
		for _, a := range g.Attributes {
			c.add(seen[a.key()], "ref_twice", a.key(), "is in "+g.ID+" twice")
			seen[a.key()] = true
			if a.Ref != "" {
				c.add(c.r.attributes[a.Ref] == nil, "ref", a.Ref, "is defined nowhere")
				c.add(a.ID != "" || a.Type.Name != "" || a.Stability != "" || a.Deprecated != nil, "ref_fields", a.Ref, "redefines what it refers to")
			}
			// packages: stability/stability.rego.
			if of := c.r.attributes[a.key()]; of != nil && signal && a.RequirementLevel != "opt_in" {
				c.add(slices.Index(ranks, g.Stability) > slices.Index(ranks, of.Stability), "lower_stability", g.name(), "is more stable than "+a.key())
			}
		}
		if signal {
			// packages: naming_conventions/names.rego.
			c.add(!nameForm.MatchString(g.name()), "name", g.name(), "is not lower snake_case with dots")
			c.add(slices.Index(ranks, g.Stability) < 1, "stability", g.name(), "has no known stability")
		}
		// semconv: policies/brief.rego.
		c.add(oneLine(g.Brief) == "", "brief", g.ID, "has none")
		// packages: stability/deprecation.rego.
		if d := g.Deprecated; d != nil && d.Reason == "renamed" {
			c.add(!slices.ContainsFunc(c.r.groups, func(to *group) bool {
				return to.Type == g.Type && to.name() == d.RenamedTo && to.Deprecated == nil
			}), "renamed_to", g.name(), "became what is not there")
		}
	}
}

func (c *checker) attributes() {
	for _, a := range c.r.defined() {
		// packages: naming_conventions/names.rego.
		c.add(!nameForm.MatchString(a.ID), "name", a.ID, "is not lower snake_case with dots")
		c.add(!strings.Contains(a.ID, "."), "namespace", a.ID, "has no namespace")
		// semconv: docs/general/naming.md, "Recommendations for application developers".
		c.add(!strings.HasPrefix(a.ID, "otelgc."), "prefix", a.ID, "is not of otelgc's namespace")
		// weaver: schemas/semconv-syntax.md, "Attributes".
		c.add(!slices.Contains(types, a.Type.Name), "type", a.ID, "is of no known type")
		c.add(slices.Index(ranks, a.Stability) < 1, "stability", a.ID, "has no known stability")
		c.examples(a)
		// semconv: policies/brief.rego.
		c.add(oneLine(a.Brief) == "", "brief", a.ID, "has none")
		// semconv: docs/general/naming.md, "Attribute name pluralization guidelines".
		c.add(strings.HasSuffix(a.Type.Name, "[]") && !strings.HasSuffix(a.ID, "s"), "plural", a.ID, "is an array and singular")
		// packages: stability/deprecation.rego.
		if d := a.Deprecated; d != nil && d.Reason == "renamed" {
			to := c.r.attributes[d.RenamedTo]
			c.add(to == nil || to.Deprecated != nil || to.Type.Name != a.Type.Name, "renamed_to", a.ID, "became what is not there, or of another type")
		}
		// packages: naming_conventions/enum_member_collisions.rego and names.rego.
		seen := map[string]bool{}
		for _, m := range a.Type.Members {
			for _, id := range []string{"id " + m.ID, "value " + m.Value, "constant " + constant(m.ID)} {
				c.add(seen[id], "enum_member", a.ID, "has the "+id+" twice")
				seen[id] = true
			}
			c.add(!nameForm.MatchString(m.ID), "enum_member", a.ID, "has the member "+m.ID)
			c.add(slices.Index(ranks, m.Stability) < 1, "enum_member", a.ID, m.ID+" has no known stability")
		}
	}
}

// examples: weaver's schemas/semconv-syntax.md, "Examples (for examples)".
func (c *checker) examples(a *attribute) {
	text := strings.HasPrefix(a.Type.Name, "string")
	c.add(text && len(a.Examples) == 0, "examples", a.ID, "is a text without any")
	for _, e := range a.Examples {
		got := fmt.Sprintf("%T", e)
		if list, ok := e.([]any); ok && len(list) > 0 {
			got = fmt.Sprintf("%T[]", list[0])
		}
		c.add(text && got != a.Type.Name, "examples", a.ID, "is a "+a.Type.Name+" and an example a "+got)
	}
}

// constant returns the name of a constant that weaver makes of a name.
func constant(name string) string { return strings.ReplaceAll(name, ".", "_") }

// collisions are of two names: packages, naming_conventions/attribute_name_collisions.rego,
// constant_name_collisions.rego and metrics_collisions.rego. OpenTelemetry's names count.
func (c *checker) collisions() {
	for key, a := range c.r.attributes {
		for other, b := range c.r.attributes {
			if key == other || a.Deprecated != nil || b.Deprecated != nil || a.ID == "" && b.ID == "" {
				continue
			}
			c.add(strings.HasPrefix(other, key+"."), "attribute_namespace", key, "is a namespace of "+other)
			c.add(constant(key) == constant(other), "constant", key, "has the constant of "+other)
		}
	}
	for _, a := range c.r.groups {
		for _, b := range c.r.groups {
			if a == b || a.Type != b.Type || a.name() == "" || a.Deprecated != nil || b.Deprecated != nil {
				continue
			}
			c.add(constant(a.name()) == constant(b.name()), "constant", a.name(), "has the constant of "+b.name())
		}
	}
	for _, m := range c.r.of("metric") {
		for _, other := range slices.Concat(c.r.of("metric"), slices.Collect(maps.Values(c.up.metrics))) {
			excepted := slices.Contains(m.Annotations.NamingConventions.PolicyExceptions, "metric_namespace_collision")
			c.add(!excepted && strings.HasPrefix(other.MetricName, m.MetricName+"."), "metric_namespace", m.MetricName, "is a namespace of "+other.MetricName)
		}
	}
}

func (c *checker) metric(m *group) {
	parts := strings.Split(m.MetricName, ".")
	last, countable := parts[len(parts)-1], strings.HasPrefix(m.Unit, "{")
	upstream := c.up.metrics["metric."+m.MetricName]
	// packages: naming_conventions/metric_brief_format.rego.
	c.add(!strings.HasSuffix(strings.TrimSpace(m.Brief), "."), "metric_brief", m.MetricName, "has a brief without a period")
	c.add(!unitForm.MatchString(m.Unit), "unit", m.MetricName, "has the unit "+m.Unit)
	c.add(!slices.Contains([]string{"counter", "updowncounter", "gauge", "histogram"}, m.Instrument), "instrument", m.MetricName, "is made by "+m.Instrument)
	// semconv: docs/general/naming.md, "Instrument naming".
	c.add(last == "duration" && m.Instrument != "histogram", "instrument_name", m.MetricName, "is a duration and no histogram")
	c.add(last == "time" && m.Instrument != "counter", "instrument_name", m.MetricName, "is a time and no counter")
	c.add((last == "duration" || last == "time") && m.Unit != "s", "instrument_name", m.MetricName, "is a length of time and not in seconds")
	c.add(last == "utilization" && m.Unit != "1", "instrument_name", m.MetricName, "is a utilization and no ratio")
	// semconv: docs/general/naming.md, "Naming rules for counters and UpDownCounters".
	c.add(last == "total" || strings.HasSuffix(last, "_total"), "total", m.MetricName, "ends with total")
	c.add(strings.HasSuffix(last, "s") && (!countable || m.Instrument == "updowncounter"), "plural", m.MetricName, "is a plural and counts nothing")
	// semconv: docs/general/naming.md, "Recommendations for application developers" and
	// "Name reuse prohibition": a metric of OpenTelemetry is used as it is.
	c.add(upstream == nil && !strings.HasPrefix(m.MetricName, "otelgc."), "prefix", m.MetricName, "is not of otelgc's namespace")
	if upstream != nil {
		same := m.Extends == "metric."+m.MetricName && m.Instrument == upstream.Instrument && m.Unit == upstream.Unit && oneLine(m.Brief) == oneLine(upstream.Brief)
		c.add(!same, "upstream", m.MetricName, "is not as OpenTelemetry has it")
	}
}

// TestPoliciesBite: each rule finds what breaks it.
func TestPoliciesBite(t *testing.T) {
	enum := func(members ...member) attributeType { return attributeType{Name: "enum", Members: members} }
	a := func(id, typ string) *attribute {
		return &attribute{ID: id, Type: attributeType{Name: typ}, Stability: "development", Brief: "What it is."}
	}
	attributes := func(all ...*attribute) []*group {
		return []*group{{ID: "registry.otelgc", Type: "attribute_group", Brief: "All.", Attributes: all}}
	}
	metric := func(name, instrument, unit string, with ...func(*group)) []*group {
		m := &group{ID: "metric." + name, Type: "metric", MetricName: name, Instrument: instrument, Unit: unit, Stability: "development", Brief: "What it is."}
		for _, f := range with {
			f(m)
		}
		return []*group{m}
	}
	up := &upstream{
		attributes: map[string]*attribute{"host.id": {Type: attributeType{Name: "string"}, Stability: "development"}},
		metrics:    map[string]*group{"metric.go.cpu.time": {MetricName: "go.cpu.time", Instrument: "counter", Unit: "s", Brief: "CPU time."}},
	}
	for rule, groups := range map[string][]*group{
		"group_id":            append(metric("otelgc.a", "counter", "s"), metric("otelgc.a", "counter", "s")...),
		"group_type":          {{ID: "x", Type: "resource", Name: "otelgc.x", Stability: "development", Brief: "X.", Attributes: []*attribute{{Ref: "host.id"}}}},
		"signal_name":         {{ID: "event.x", Type: "event", Stability: "development", Brief: "X."}},
		"group_empty":         attributes(),
		"extends":             metric("otelgc.a", "counter", "s", func(g *group) { g.Extends = "metric.no" }),
		"ref_twice":           attributes(&attribute{Ref: "host.id"}, &attribute{Ref: "host.id"}),
		"ref":                 attributes(&attribute{Ref: "host.no"}),
		"ref_fields":          attributes(&attribute{Ref: "host.id", Stability: "stable"}),
		"lower_stability":     metric("otelgc.a", "counter", "s", func(g *group) { g.Stability, g.Attributes = "stable", []*attribute{{Ref: "host.id"}} }),
		"name":                attributes(a("otelgc.camelCase", "int")),
		"namespace":           attributes(a("otelgc", "int")),
		"prefix":              attributes(a("host.mine", "int")),
		"type":                attributes(a("otelgc.a", "integer")),
		"stability":           attributes(&attribute{ID: "otelgc.a", Type: attributeType{Name: "int"}, Brief: "A."}),
		"brief":               attributes(&attribute{ID: "otelgc.a", Type: attributeType{Name: "int"}, Stability: "stable"}),
		"examples":            attributes(a("otelgc.a", "string")),
		"enum_member":         attributes(&attribute{ID: "otelgc.a", Stability: "stable", Brief: "A.", Type: enum(member{ID: "a", Value: "x", Stability: "stable"}, member{ID: "b", Value: "x", Stability: "stable"})}),
		"renamed_to":          attributes(&attribute{ID: "otelgc.a", Type: attributeType{Name: "int"}, Stability: "stable", Brief: "A.", Deprecated: &deprecated{Reason: "renamed", RenamedTo: "otelgc.b"}}),
		"attribute_namespace": attributes(a("host.id.mine", "int")),
		"constant":            attributes(a("otelgc.a.b", "int"), a("otelgc.a_b", "int")),
		"metric_namespace":    append(metric("otelgc.a", "counter", "s"), metric("otelgc.a.b", "counter", "s")...),
		"metric_brief":        metric("otelgc.a", "counter", "s", func(g *group) { g.Brief = "What it is" }),
		"unit":                metric("otelgc.a", "counter", "ms"),
		"instrument":          metric("otelgc.a", "observable counter", "s"),
		"instrument_name":     metric("otelgc.a.duration", "counter", "s"),
		"total":               metric("otelgc.a_total", "counter", "{item}"),
		"plural":              metric("otelgc.seconds", "counter", "s"),
		"upstream":            metric("go.cpu.time", "counter", "ms"),
	} {
		r := &registry{groups: groups, attributes: maps.Clone(up.attributes)}
		for _, a := range r.defined() {
			r.attributes[a.ID] = a
		}
		if !slices.ContainsFunc(check(r, up), func(f finding) bool { return f.rule == rule }) {
			t.Errorf("%s finds nothing where it is broken: %v", rule, check(r, up))
		}
	}
}

// TestNames holds the constants of semconv/names.go to the registry: all of its names, and
// no others. Of names that share a prefix the constant may be the prefix.
func TestNames(t *testing.T) {
	r := load(t, readUpstream(t))
	names := map[string][]string{}
	for key := range r.attributes {
		names["Attr"] = append(names["Attr"], key)
	}
	for _, g := range r.groups {
		switch g.Type {
		case "metric":
			names["Metric"] = append(names["Metric"], g.MetricName)
		case "event":
			names["Event"] = append(names["Event"], g.Name)
		}
	}
	covered := map[string]bool{}
	for name, value := range constants(t, "../names.go") {
		kind := first(regexp.MustCompile(`^(Attr|Metric|Event)`), name)
		if kind == "" {
			continue
		}
		found := false
		for _, n := range names[kind] {
			if n == value || strings.HasSuffix(name, "Prefix") && strings.HasPrefix(n, value) {
				found, covered[kind+n] = true, true
			}
		}
		if !found {
			t.Errorf("%s = %q is not in the registry", name, value)
		}
	}
	var missing []string
	for kind, all := range names {
		for _, n := range all {
			if a := r.attributes[n]; !covered[kind+n] && (kind != "Attr" || a.ID != "") {
				missing = append(missing, kind+" "+n)
			}
		}
	}
	slices.Sort(missing)
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("names without a constant in semconv/names.go (-want +got):\n%s", diff)
	}
}
