package chart

import (
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"
)

// TestWrongValues are refused, and one line says which and why.
func TestWrongValues(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"sidecars: {}", "at '': additional properties 'sidecars' not allowed"},
		{"sidecar: {dotnett: true}", "at '/sidecar': additional properties 'dotnett' not allowed"},
		{"sidecar: {image: {tags: a}}", "at '/sidecar/image': additional properties 'tags' not allowed"},
		{"sidecar: {resources: {limit: {}}}", "at '/sidecar/resources': additional properties 'limit' not allowed"},
		{"sidecar: {go: 'yes'}", "at '/sidecar/go': got string, want boolean"},
		{"sidecar: {boardNamespaces: shop}", "at '/sidecar/boardNamespaces': got string, want array"},
		{"sidecar: {namespace: A_b}", "at '/sidecar/namespace': 'A_b' does not match pattern"},
		{"collector: {image: {tag: 7}}", "at '/collector/image/tag': got number, want string"},
		{"collector: {image: {digest: 12ab}}", "at '/collector/image/digest': '12ab' does not match pattern"},
		{"collector: {image: {pullPolicy: Sometimes}}", "at '/collector/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"},
		{"backend: {endpoint: 'https://traces.shop.test'}", "at '/backend/endpoint': 'https://traces.shop.test' does not match pattern"},
		{"backend: {endpoint: ''}", "backend.endpoint: want the host:port to which traces and events go"},
		{"backend: {clientCertificate: true}", "backend.clientCertificate: want backend.secretName, too"},
		{"gateway: {replicas: 0}", "at '/gateway/replicas': minimum: got 0, want 1"},
		{"gateway: {storage: 8 GB}", "at '/gateway/storage': '8 GB' does not match pattern"},
		{"agent: {extraEnv: {A: b}}", "at '/agent/extraEnv': got object, want array"},
		{"agent: {extraEnv: [{name: A, val: b}]}", "at '/agent/extraEnv/0': additional properties 'val' not allowed"},
		{"tls: {enabled: true, secret: a}", "at '/tls': additional properties 'secret' not allowed"},
		{"networkPolicy: {sidecarEgress: [{from: []}]}", "at '/networkPolicy/sidecarEgress/0': additional properties 'from' not allowed"},
	} {
		_, err := rendered("backend: {endpoint: 'traces.shop.test:4317'}", c.values)
		if err == nil {
			t.Errorf("%s: got no error", c.values)
			continue
		}
		lines := 0
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if strings.Contains(line, "at '") || strings.Contains(line, "backend.") {
				lines++
			}
		}
		if lines != 1 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, want one line with %q", c.values, err, c.want)
		}
	}
}

// TestSchemaIsStrict: each value that the chart has is in the schema, at each level that
// is the chart's own, or a typo there would pass.
func TestSchemaIsStrict(t *testing.T) {
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string]any{}
	if err := yaml.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	definitions, _ := schema["definitions"].(map[string]any)
	compare(t, "", definitions, schema, c.Values)
}

// compare reports what is among values and not in the schema, the other way round, and
// where a schema that names properties allows others. Parts that Kubernetes or the
// Collector defines name no properties here.
func compare(t *testing.T, at string, definitions, schema, values map[string]any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema, _ = definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	if more, ok := schema["additionalProperties"].(bool); !ok || more {
		t.Errorf("schema of %s/ allows any property", at)
	}
	for name := range values {
		if properties[name] == nil {
			t.Errorf("value %s/%s is not in the schema", at, name)
		}
	}
	for name, p := range properties {
		_, is := values[name]
		if strings.HasSuffix(at, "/resources") || at+name == "global" { // of these not all have to be there
			continue
		}
		if !is {
			t.Errorf("the schema has %s/%s, and values.yaml has not", at, name)
		}
		under, _ := values[name].(map[string]any)
		of, _ := p.(map[string]any)
		compare(t, at+"/"+name, definitions, of, under)
	}
}

// TestValuesAreExplained: each line of values.yaml that begins something of the chart's
// has a comment, but for what was explained for another component.
func TestValuesAreExplained(t *testing.T) {
	explained := map[string]bool{}
	for line := range strings.SplitSeq(read(t, chartDir+"values.yaml"), "\n") {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(name, "#") || strings.HasPrefix(name, "-") {
			continue
		}
		if _, comment, ok := strings.Cut(rest, " # "); ok && comment != "" {
			explained[name] = true
		}
	}
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for top, of := range c.Values {
		if !explained[top] {
			t.Errorf("nothing explains %s", top)
		}
		values, _ := of.(map[string]any)
		for name := range values {
			switch name {
			case "image", "nodeSelector", "podAnnotations": // as everywhere
				continue
			}
			if !explained[name] {
				t.Errorf("nothing explains %s.%s", top, name)
			}
		}
	}
}

// TestLint: `helm lint` has nothing to say but that a chart may have an icon.
func TestLint(t *testing.T) {
	dir, err := filepath.Abs(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range []string{asItIs, withAll, allValues} {
		given := map[string]any{}
		if err := yaml.Unmarshal([]byte(values), &given); err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.RunAll(dir, given, "otelgc").Messages {
			if m.Severity > support.InfoSev || !strings.Contains(m.Error(), "icon") {
				t.Errorf("with %q: %v", values, m)
			}
		}
	}
}
