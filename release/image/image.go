// Command image makes an image of a program, from scratch, as an OCI layout: a
// directory that every container runtime and registry client can read. It needs no
// daemon and no registry, and two images of the same files are equal byte for byte.
//
//	image -out DIR -name otelgc-sidecar -version 0.1.0 -revision COMMIT -created TIME \
//		linux/amd64=FILE linux/arm64=FILE
//
// With -push it sends the image of a layout to a registry, with the login that docker
// login stored:
//
//	image -out DIR -push ghcr.io/otelgc/otelgc-sidecar:0.1.0
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is who the program is in its container, where nothing else is said: nobody that
// the host knows, and without a right.
const user = "65532:65532"

func main() {
	log.SetFlags(0)
	log.SetPrefix("image: ")
	var o options
	flag.StringVar(&o.out, "out", "", "the directory of the layout, which is made")
	flag.StringVar(&o.name, "name", "", "of the program")
	flag.StringVar(&o.version, "version", "", "of the program")
	flag.StringVar(&o.revision, "revision", "", "the commit it was built at")
	flag.TextVar(&o.created, "created", time.Time{}, "the time of that commit, as in RFC 3339")
	flag.StringVar(&o.license, "license", "LICENSE", "the file that the image has as /LICENSE")
	to := flag.String("push", "", "send the image that is in -out to `REGISTRY/NAME:TAG`")
	flag.Parse()
	var err error
	switch {
	case *to == "":
		err = o.write(flag.Args())
	case flag.NArg() > 0:
		err = errors.New("-push takes no PLATFORM=FILE")
	default:
		err = push(o.out, *to)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// push sends the image of a layout, which holds it for all its platforms.
func push(dir, to string) error {
	where, err := name.ParseReference(to)
	if err != nil {
		return fmt.Errorf("push %s: %w", dir, err)
	}
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return fmt.Errorf("push %s: %w", dir, err)
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return fmt.Errorf("push %s: %w", dir, err)
	}
	if len(manifest.Manifests) != 1 {
		return fmt.Errorf("push %s: it holds %d images, want 1", dir, len(manifest.Manifests))
	}
	image, err := all.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return fmt.Errorf("push %s: %w", dir, err)
	}
	if err := remote.WriteIndex(where, image, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", dir, err)
	}
	return nil
}

type options struct {
	out, name, version, revision, license string
	created                               time.Time
}

// write writes the layout, with an image for each PLATFORM=FILE.
func (o *options) write(binaries []string) error {
	if o.out == "" || o.name == "" || len(binaries) == 0 {
		return errors.New("want -out, -name and PLATFORM=FILE")
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		where, file, _ := strings.Cut(b, "=")
		platform, err := v1.ParsePlatform(where)
		if err != nil {
			return fmt.Errorf("platform %q: %w", where, err)
		}
		image, err := o.image(platform, file)
		if err != nil {
			return fmt.Errorf("%s: %w", b, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	index = mutate.Annotations(index, o.labels()).(v1.ImageIndex)
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	all, err := layout.Write(o.out, empty.Index)
	if err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	// The name by which tools that read layouts find it (image-spec, annotations.md).
	name := map[string]string{"org.opencontainers.image.ref.name": o.version}
	if err := all.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	return nil
}

// labels are those of the OCI image specification.
func (o *options) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         o.name,
		"org.opencontainers.image.description":   "was it the garbage collector, the scheduler, the machine, or our own code?",
		"org.opencontainers.image.source":        "https://github.com/otelgc/otelgc",
		"org.opencontainers.image.documentation": "https://github.com/otelgc/otelgc/blob/" + o.version + "/README.md",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.version":       o.version,
		"org.opencontainers.image.revision":      o.revision,
		"org.opencontainers.image.created":       o.created.UTC().Format(time.RFC3339),
	}
}

// image returns the image for one platform: the program and its licence.
func (o *options) image(p *v1.Platform, program string) (v1.Image, error) {
	layer, err := o.layer(program)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: o.created.UTC()}, CreatedBy: "image " + o.name},
	})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant = p.OS, p.Architecture, p.Variant
	file.Created = v1.Time{Time: o.created.UTC()}
	file.Config = v1.Config{
		Entrypoint: []string{"/" + o.name}, User: user, WorkingDir: "/", Labels: o.labels(),
		Env: []string{"PATH=/"},
	}
	return mutate.ConfigFile(image, file)
}

// layer returns the only layer. All that would differ between two builds is left out.
func (o *options) layer(program string) (v1.Layer, error) {
	var all bytes.Buffer
	w := tar.NewWriter(&all)
	for _, f := range []struct {
		name, from string
		mode       int64
	}{{o.name, program, 0o755}, {"LICENSE", o.license, 0o644}} {
		content, err := os.ReadFile(filepath.Clean(f.from))
		if err != nil {
			return nil, err
		}
		h := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(content)), ModTime: o.created.UTC(), Format: tar.FormatPAX}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(all.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}
