package stallconnector

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

// TestSettings: every setting has its name, and the README tells of it.
func TestSettings(t *testing.T) {
	given := map[string]any{
		"wait": "3s", "max_bytes": 1, "max_spans": 2, "max_hosts": 3, "max_processes": 4, "max_services": 5,
		"slow_span": "1s", "probes": "stamped", "count": "attached", "metrics_interval": "7s",
		"wait_for_result": true,
	}
	got := createDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(given).Unmarshal(got); err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Config: attribution.Config{
			Wait: 3 * time.Second, MaxBytes: 1, MaxSpans: 2, MaxHosts: 3, MaxProcesses: 4, MaxServices: 5,
			SlowSpan: time.Second, Probes: attribution.ProbesStamped, Count: attribution.CountAttached,
		},
		MetricsInterval: 7 * time.Second,
		WaitForResult:   true,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if err := confmap.NewFromStringMap(map[string]any{"max_memory": 1}).Unmarshal(createDefaultConfig()); err == nil {
		t.Error("a setting that does not exist was taken")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range given {
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
