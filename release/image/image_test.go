package main

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// made writes the images of two programs into a new directory, and returns it.
func made(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"amd64": "one", "arm64": "the other", "LICENSE": "free"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := options{
		out: filepath.Join(dir, "layout"), name: "program", version: "v0.1.0", revision: "3c78100",
		license: filepath.Join(dir, "LICENSE"), created: time.Unix(1764000000, 0),
	}
	if err := o.write([]string{"linux/amd64=" + filepath.Join(dir, "amd64"), "linux/arm64=" + filepath.Join(dir, "arm64")}); err != nil {
		t.Fatal(err)
	}
	return o.out
}

// inside returns the only index of a layout.
func inside(t *testing.T, dir string) v1.ImageIndex {
	t.Helper()
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := all.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("manifest %+v, %v, want one of an index", m, err)
	}
	if got := m.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != "v0.1.0" {
		t.Errorf("its name is %q, want v0.1.0", got)
	}
	index, err := all.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// TestImage: a layout has an image for each platform, and all digests and sizes are right.
func TestImage(t *testing.T) {
	index := inside(t, made(t))
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		file, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := file.Platform().String(); got != m.Platform.String() {
			t.Errorf("the image for %v says %s", m.Platform, got)
		}
		if diff := cmp.Diff([]string{"/program"}, file.Config.Entrypoint); diff != "" || file.Config.User != "65532:65532" {
			t.Errorf("entrypoint (-want +got):\n%suser %q", diff, file.Config.User)
		}
		if got := file.Config.Labels["org.opencontainers.image.revision"]; got != "3c78100" {
			t.Errorf("revision %q, want 3c78100", got)
		}
		want := map[string]string{"program": map[string]string{"amd64": "one", "arm64": "the other"}[m.Platform.Architecture], "LICENSE": "free"}
		if diff := cmp.Diff(want, files(t, image)); diff != "" {
			t.Errorf("files of %v (-want +got):\n%s", m.Platform, diff)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

func files(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v, want 1", len(layers), err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := map[string]string{}
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		content, err2 := io.ReadAll(in)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		all[h.Name] = string(content)
	}
}

// TestSame: who made an image when and where is not in it.
func TestSame(t *testing.T) {
	one, other := inside(t, made(t)), inside(t, made(t))
	want, err := one.Digest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := other.Digest()
	if err != nil || got != want {
		t.Errorf("digest %v, %v, want %v", got, err, want)
	}
}

func TestWrong(t *testing.T) {
	for _, args := range [][]string{nil, {"linux/amd64"}, {"linux/amd64=no-such-file"}, {"a/b/c/d/e=image.go"}} {
		o := options{out: filepath.Join(t.TempDir(), "layout"), name: "program"}
		if err := o.write(args); err == nil {
			t.Errorf("%q: no error", args)
		}
		if _, err := os.Stat(o.out); err == nil {
			t.Errorf("%q: a layout was left", args)
		}
	}
}

// TestPush: what is in a layout is what a registry has then, for each platform; and a layout
// that holds anything else is refused.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/otelgc/program:v0.1.0"
	dir := made(t)
	if err := push(dir, to); err != nil {
		t.Fatal(err)
	}
	where, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Index(where)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(got); err != nil {
		t.Error(err)
	}
	digest, err := got.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if want, err := inside(t, dir).Digest(); err != nil || digest != want {
		t.Errorf("the registry has %v, want %v (%v)", digest, want, err)
	}
	if _, err := layout.Write(dir, empty.Index); err != nil {
		t.Fatal(err)
	}
	if err := push(dir, to); err == nil || !strings.Contains(err.Error(), "it holds 0 images, want 1") {
		t.Errorf("an empty layout: got %v", err)
	}
}
