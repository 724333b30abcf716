package manifests

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const deploy = "../../deploy/"

// withAll is kubernetes with all components, withBoard apps with theirs.
const (
	withAll   = "kubernetes with all components"
	withBoard = "apps with the board"
)

// all are all kustomizations that there are to apply.
var all = []string{"kubernetes", "kubernetes/plaintext", withAll, "apps", withBoard}

// build returns the documents of a kustomization.
func build(t *testing.T, name string) [][]byte {
	t.Helper()
	dir := deploy + name
	switch name {
	case withAll:
		dir = withComponents(t, "kubernetes", "sidecar/spin", "sidecar/dotnet", "sidecar/go")
	case withBoard:
		dir = withComponents(t, "apps", "apps/board")
	}
	return buildDir(t, dir)
}

// buildDir returns the documents of the kustomization of a directory.
func buildDir(t *testing.T, dir string) [][]byte {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var docs [][]byte
	for _, r := range all.Resources() {
		doc, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	return docs
}

// withComponents makes a kustomization of another and components.
func withComponents(t *testing.T, of string, components ...string) string {
	t.Helper()
	dir := t.TempDir()
	relative := func(name string) string {
		path, err := filepath.Abs(deploy + name)
		if err == nil {
			path, err = filepath.Rel(dir, path)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	k := types.Kustomization{Resources: []string{relative(of)}}
	for _, c := range components {
		k.Components = append(k.Components, relative(c))
	}
	text, err := yaml.Marshal(k)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
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
	return runtime.Decode(strict.UniversalDecoder(), doc)
}
