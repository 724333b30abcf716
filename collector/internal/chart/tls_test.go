package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// connection is what decides whether one end of a connection is encrypted.
type connection struct {
	Plain       bool // who dials says insecure, who listens has no certificate
	CA          bool // named: who dials knows whom to believe
	Certificate bool // shown
	Demands     bool // who listens asks for a certificate
}

// TestTLSUnlessAskedOtherwise: all that crosses nodes is encrypted where nobody chose
// anything, and between the tiers both ends show certificates. Plaintext is asked for.
func TestTLSUnlessAskedOtherwise(t *testing.T) {
	mutual := map[string]connection{
		"agent load_balancing":         {CA: true, Certificate: true},
		"agent load_balancing/ordered": {CA: true, Certificate: true},
		"gateway otlp":                 {Certificate: true, Demands: true},
		"gateway otlp_grpc/backend":    {},
	}
	for values, want := range map[string]map[string]connection{
		asItIs: mutual, withAll: mutual,
		plaintext: {
			"agent load_balancing":         {Plain: true},
			"agent load_balancing/ordered": {Plain: true},
			"gateway otlp":                 {Plain: true},
			"gateway otlp_grpc/backend":    {},
		},
	} {
		if diff := cmp.Diff(want, connections(t, render(t, values))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", values, diff)
		}
	}
}

// TestTLSOfTheFilesAlone: so is what the Collectors' configurations send when no
// variable is set, without Kubernetes and without the files for TLS.
func TestTLSOfTheFilesAlone(t *testing.T) {
	got := map[string]connection{}
	for _, tier := range []string{"agent", "gateway"} {
		for name, c := range dials(t, parsed(t, read(t, chartDir+"config/"+tier+".yaml")), nil) {
			got[tier+" "+name] = c
		}
	}
	want := map[string]connection{"agent load_balancing": {}, "agent load_balancing/ordered": {}, "gateway otlp_grpc/backend": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// connections returns those of both tiers, as their Collectors are started.
func connections(t *testing.T, docs [][]byte) map[string]connection {
	t.Helper()
	files := configMaps(t, docs)
	all := map[string]connection{}
	for _, w := range workloads(t, docs) {
		tier, container := strings.TrimPrefix(w.name, "otelgc-"), w.pod.Spec.Containers[0]
		if tier == "sidecar" { // what it sends does not leave its node
			continue
		}
		merged, env := map[string]any{}, map[string]string{}
		for _, v := range w.pod.Spec.Volumes {
			if v.ConfigMap == nil {
				continue
			}
			for _, arg := range container.Args {
				if _, name, ok := strings.Cut(arg, "/etc/otelgc/"); ok {
					merge(merged, parsed(t, files[v.ConfigMap.Name][name]))
				}
			}
		}
		for _, e := range container.Env {
			env[e.Name] = e.Value
		}
		for name, c := range dials(t, merged, env) {
			all[tier+" "+name] = c
		}
		if tier == "gateway" {
			tls, _ := at(merged, "receivers", "otlp", "protocols", "grpc", "tls").(map[string]any)
			all["gateway otlp"] = connection{Plain: tls == nil, Certificate: tls["cert_file"] != nil, Demands: tls["client_ca_file"] != nil}
		}
	}
	return all
}

// dials returns the connections of a configuration's exporters.
func dials(t *testing.T, c map[string]any, env map[string]string) map[string]connection {
	t.Helper()
	all := map[string]connection{}
	exporters, _ := c["exporters"].(map[string]any)
	for name := range exporters {
		tls, ok := at(exporters, name, "tls").(map[string]any)
		if !ok {
			tls, ok = at(exporters, name, "protocol", "otlp", "tls").(map[string]any)
		}
		if !ok {
			continue
		}
		insecure := tls["insecure"]
		if text, ok := insecure.(string); ok {
			insecure = expand(text, env) == "true"
		}
		value := func(key string) bool {
			text, _ := tls[key].(string)
			return expand(text, env) != ""
		}
		all[name] = connection{Plain: insecure == true, CA: value("ca_file"), Certificate: value("cert_file") && value("key_file")}
	}
	return all
}

// expand replaces ${env:NAME:-default} at the beginning of text.
func expand(text string, env map[string]string) string {
	inside, ok := strings.CutPrefix(text, "${env:")
	if !ok {
		return text
	}
	inside, after, _ := strings.Cut(inside, "}")
	name, value, _ := strings.Cut(inside, ":-")
	if set, ok := env[name]; ok {
		value = set
	}
	return value + after
}

func parsed(t *testing.T, text string) (c map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &c); err != nil || c == nil {
		t.Fatalf("no configuration (%v): %q", err, text)
	}
	return c
}

// merge puts more over into, as the Collector does with one file after another.
func merge(into, more map[string]any) {
	for k, v := range more {
		over, ok := v.(map[string]any)
		under, was := into[k].(map[string]any)
		if ok && was {
			merge(under, over)
		} else {
			into[k] = v
		}
	}
}

// at returns what is at a path of keys, nil for nothing.
func at(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}
