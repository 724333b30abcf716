package chart

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// TestArchive: the chart of a release is the chart of the tree, and twice the same bytes.
func TestArchive(t *testing.T) {
	archive := func() (text []byte) {
		t.Helper()
		c := exec.Command("scripts/release", "chart", t.TempDir())
		c.Dir = root
		c.Stderr = os.Stderr
		path, err := c.Output()
		if err == nil {
			text, err = os.ReadFile(strings.TrimSpace(string(path)))
		}
		if err != nil {
			t.Fatalf("make the archive: %v", err)
		}
		return text
	}
	text := archive()
	if !bytes.Equal(text, archive()) {
		t.Error("two archives of one tree are not equal")
	}
	got, err := loader.LoadArchive(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string)
	for _, f := range want.Raw {
		names[f.Name] = string(f.Data)
	}
	for _, f := range got.Raw {
		if diff := cmp.Diff(names[f.Name], string(f.Data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
		delete(names, f.Name)
	}
	for name := range names {
		t.Errorf("it lacks %s", name)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}
