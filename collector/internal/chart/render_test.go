package chart

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	"sigs.k8s.io/yaml"
)

const (
	root     = "../../../"
	chartDir = root + "charts/otelgc/"
	page     = root + "docs/start.md"
)

// Values that the chart is rendered with, beside backend.endpoint, which has no default.
const (
	asItIs    = ""
	plaintext = "tls: {enabled: false}"
	withAll   = "sidecar: {spin: true, dotnet: true, go: true, boardNamespaces: [shop, other]}"
	spin      = "sidecar: {spin: true}"
	dotnet    = "sidecar: {dotnet: true}"
	goDoor    = "sidecar: {go: true}"
	withBoard = "sidecar: {boardNamespaces: [shop]}"
	noSidecar = "sidecar: {enabled: false}\nnetworkPolicy: {enabled: false}\npriorityClass: {name: ''}"
	elsewhere = "sidecar: {namespace: probes, createNamespace: true}"
	allValues = `
backend: {secretName: backend, clientCertificate: true}
imagePullSecrets: [{name: registry}]
collector: {image: {digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}}
agent: {config: {exporters: {debug: {}}}, nodeSelector: {a: b}, podAnnotations: {a: b}, extraEnv: [{name: GOMEMLIMIT, value: 1GiB}]}
gateway: {replicas: 3, config: {exporters: {debug: {}}}, storageClassName: fast, nodeSelector: {a: b}, tolerations: [{key: a, operator: Exists}], podAnnotations: {a: b},
  extraEnv: [{name: KEY, valueFrom: {secretKeyRef: {name: key, key: key}}}]}
sidecar: {extraArgs: [--watch-cpus=0-7], nodeSelector: {a: b}, podAnnotations: {a: b}, extraEnv: [{name: A, value: b}]}`
)

var all = []string{asItIs, plaintext, withAll, spin, dotnet, goDoor, withBoard, noSidecar, elsewhere, allValues}

// render returns the documents of the chart with some values, of a release in the
// namespace otelgc.
func render(t *testing.T, values string) (docs [][]byte) {
	t.Helper()
	files, err := rendered("backend: {endpoint: 'traces.shop.test:4317'}", values)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sortedKeys(files) {
		docs = append(docs, split(files[name])...)
	}
	return docs
}

// rendered returns what the chart renders, by the name of the template.
func rendered(values ...string) (map[string]string, error) {
	c, err := loader.Load(chartDir)
	if err != nil {
		return nil, err
	}
	merged := map[string]any{}
	for _, text := range values {
		more := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &more); err != nil {
			return nil, err
		}
		merged = loader.MergeMaps(merged, more)
	}
	release := common.ReleaseOptions{Name: "otelgc", Namespace: "otelgc", Revision: 1, IsInstall: true}
	in, err := util.ToRenderValues(c, merged, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	out, err := engine.Render(c, in)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for name, text := range out {
		files[path.Base(name)] = text
	}
	return files, nil
}

func sortedKeys(m map[string]string) (keys []string) {
	for k := range m {
		if strings.HasSuffix(k, ".yaml") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// split returns the documents of a file that say anything.
func split(text string) (docs [][]byte) {
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		if strings.Contains("\n"+doc, "\nkind: ") {
			docs = append(docs, []byte(doc))
		}
	}
	return docs
}

// applications are the services of examples/kubernetes, as they are.
func applications(t *testing.T) (docs [][]byte) {
	t.Helper()
	return examples(t, "kubernetes/*.yaml")
}

// strict decodes as the API server does with fieldValidation=Strict: a field that
// is not known, or is there twice, is an error.
var strict = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

// external decodes a document to the version that it is written in.
func external(doc []byte) (runtime.Object, error) {
	obj, _, err := strict.UniversalDeserializer().Decode(doc, nil, nil)
	return obj, err
}

// internal decodes a document, with defaults, to what the API server validates.
func internal(doc []byte) (runtime.Object, error) {
	return runtime.Decode(strict.UniversalDecoder(), bytes.TrimSpace(doc))
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
