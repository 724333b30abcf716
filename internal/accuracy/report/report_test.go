package report

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSection(t *testing.T) {
	s := New("Speed")
	s.Table([][]string{{"who", "how much"}, {"we", "2"}})
	s.Para("That is %d.", 2)
	want := "## Speed\n\nMeasured on " + machine() + ".\n\n| who | how much |\n|---|--:|\n| we | 2 |\n\nThat is 2.\n"
	if d := cmp.Diff(want, s.String()); d != "" {
		t.Errorf("section (-want +got):\n%s", d)
	}
	if strings.Contains(want, "\n\n\n") {
		t.Error("an empty paragraph")
	}
}

func TestOutputMakesItsDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "docs", "a.md")
	var o Output
	f := flag.NewFlagSet("", flag.ContinueOnError)
	o.Flag(f)
	if err := f.Parse([]string{"-o", path}); err != nil {
		t.Fatal(err)
	}
	s := New("A")
	if err := o.Write(io.Discard, s); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s.String(), string(got)); d != "" {
		t.Errorf("file (-want +got):\n%s", d)
	}
}
