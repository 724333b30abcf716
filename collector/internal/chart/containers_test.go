package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestVariables: a container has each variable once, and what the user sets stands in
// place of what the chart has.
func TestVariables(t *testing.T) {
	for _, values := range all {
		for _, w := range workloads(t, render(t, values)) {
			seen := map[string]bool{}
			for _, e := range w.pod.Spec.Containers[0].Env {
				if seen[e.Name] {
					t.Errorf("%s: %s has %s twice", values, w.name, e.Name)
				}
				seen[e.Name] = true
			}
		}
	}
	got := map[string]string{}
	for _, w := range workloads(t, render(t, allValues)) {
		for _, e := range w.pod.Spec.Containers[0].Env {
			if e.Name == "GOMEMLIMIT" || e.ValueFrom != nil {
				got[w.name+" "+e.Name] = e.Value
			}
		}
	}
	want := map[string]string{
		"otelgc-agent GOMEMLIMIT": "1GiB", "otelgc-gateway GOMEMLIMIT": "1400MiB", "otelgc-gateway KEY": "",
		"otelgc-sidecar GOMEMLIMIT": "96MiB", "otelgc-sidecar NODE": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

// TestImages: by the version of the chart, which is that of the module, by tag, or by
// digest.
func TestImages(t *testing.T) {
	var c struct {
		Version, AppVersion string
	}
	if err := yaml.Unmarshal([]byte(read(t, chartDir+"Chart.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	_, module, _ := strings.Cut(read(t, root+"otelgc/doc.go"), `const Version = "`)
	module, _, _ = strings.Cut(module, `"`)
	if module == "" || c.AppVersion != module || c.Version != c.AppVersion {
		t.Errorf("the chart is %s of %s, the module %s", c.Version, c.AppVersion, module)
	}
	digest := "sha256:" + strings.Repeat("0", 64)
	for values, want := range map[string]string{
		"":                              "here:" + c.AppVersion,
		"tag: '7'":                      "here:7",
		"tag: '7', digest: " + digest:   "here@" + digest,
		"tag: '', digest: " + digest:    "here@" + digest,
		"tag: '7', pullPolicy: 'Never'": "here:7",
	} {
		image := "{image: {repository: here, " + values + "}}"
		for _, w := range workloads(t, render(t, "collector: "+image+"\nsidecar: "+image)) {
			if got := w.pod.Spec.Containers[0].Image; got != want {
				t.Errorf("%s: %s has image %s, want %s", values, w.name, got, want)
			}
		}
	}
}

// TestFilesOfACollector: what the user lays over it comes last, and every file that it
// is started with is in its ConfigMap; other files make other pods.
func TestFilesOfACollector(t *testing.T) {
	sums := map[string]bool{}
	for _, values := range []string{asItIs, allValues} {
		docs := render(t, values)
		files := configMaps(t, docs)
		for _, w := range workloads(t, docs) {
			if w.name == "otelgc-sidecar" {
				continue
			}
			args := w.pod.Spec.Containers[0].Args
			for _, arg := range args {
				if name := strings.TrimPrefix(arg, "--config=/etc/otelgc/"); files[w.name][name] == "" {
					t.Errorf("%s is started with %s, which is not there", w.name, arg)
				}
			}
			if yours := args[len(args)-1] == "--config=/etc/otelgc/yours.yaml"; yours != (values == allValues) {
				t.Errorf("%q: %s is started with %s", values, w.name, args)
			}
			sums[w.pod.Annotations["checksum/config"]] = true
			tier := strings.TrimPrefix(w.name, "otelgc-")
			if diff := cmp.Diff(read(t, chartDir+"config/"+tier+".yaml"), files[w.name]["config.yaml"]); diff != "" {
				t.Errorf("config.yaml of %s (-file +ConfigMap):\n%s", w.name, diff)
			}
		}
	}
	if len(sums) != 4 {
		t.Errorf("checksums %v, want four", sums)
	}
}

// configMaps returns the files of the ConfigMaps among documents, by the names of both.
func configMaps(t *testing.T, docs [][]byte) map[string]map[string]string {
	t.Helper()
	files := map[string]map[string]string{}
	for _, doc := range docs {
		obj, err := external(doc)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := obj.(*corev1.ConfigMap); ok {
			files[m.Name] = m.Data
		}
	}
	return files
}
