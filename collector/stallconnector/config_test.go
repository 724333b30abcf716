package stallconnector

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

// TestSettings: every setting has its name, is in testdata/config.yaml, and the README
// tells of it.
func TestSettings(t *testing.T) {
	file, err := confmaptest.LoadConf("testdata/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := &Config{
		Config: attribution.Config{
			Wait: 3 * time.Second, MaxBytes: 1_000_000, MaxSpans: 2, MaxHosts: 3, MaxProcesses: 4, MaxServices: 5,
			SlowSpan: time.Second, Probes: attribution.ProbesStamped, Count: attribution.CountAttached,
		},
		MetricsInterval: 7 * time.Second,
		WaitForResult:   true,
	}
	for name, want := range map[string]component.Config{"stall": createDefaultConfig(), "stall/all": all} {
		given, err := file.Sub(name)
		if err != nil {
			t.Fatal(err)
		}
		got := createDefaultConfig()
		if err := given.Unmarshal(got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if err := got.(*Config).Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := confmap.NewFromStringMap(map[string]any{"max_memory": 1}).Unmarshal(createDefaultConfig()); err == nil {
		t.Error("a setting that does not exist was taken")
	}
	settings := confmap.New()
	if err := settings.Marshal(all); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range settings.AllKeys() {
		if !file.IsSet("stall/all::" + name) {
			t.Errorf("testdata/config.yaml does not set %s", name)
		}
		if row := regexp.MustCompile("(?m)^\\|.*`" + name + "`"); !row.Match(readme) {
			t.Errorf("README.md has no row for %s", name)
		}
	}
}

// TestWrongSettings are said in one line each, with what is wanted.
func TestWrongSettings(t *testing.T) {
	c := createDefaultConfig().(*Config)
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.Wait, c.MaxSpans, c.MetricsInterval, c.Probes, c.Count = -1, -1, 0, "mine", "some"
	want := strings.Join([]string{
		"max_spans -1: want 0 (the default) or more", "wait -1ns: want 0s (the default) to 5m0s",
		`probes "mine": want all (the default) or stamped`, `count "some": want all (the default) or attached`, "metrics_interval 0s: want more than 0s",
	}, "\n")
	if err := c.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v, want\n%s", err, want)
	}
}
