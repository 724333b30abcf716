package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// candidate is the commit of v0.1.0-rc.1. The tag is at a child of it that differs in
// collector/go.mod and go.sum alone, and that a clone without tags lacks.
const candidate = "beb1b56b596e1ccad1c969c1f64b4ca2a1fb5d81"

// older makes the programs of candidate, once.
var older = sync.OnceValues(func() (b binaries, err error) {
	tree := filepath.Join(scratch, "older")
	b = binaries{
		collector: filepath.Join(tree, "otelcol-otelgc"),
		sidecar:   filepath.Join(tree, "otelgc-sidecar"),
		shop:      filepath.Join(tree, "shop"),
	}
	if err := os.Mkdir(tree, 0o755); err != nil {
		return b, err
	}
	unpack := `git archive --format=tar "$0" | tar -x -C "$1"`
	cmd := exec.Command("bash", "-o", "pipefail", "-c", unpack, candidate, tree)
	cmd.Dir = "../../.." // git archive has the current directory and what is below
	if text, err := cmd.CombinedOutput(); err != nil {
		return b, fmt.Errorf("unpack %s: %w\n%s", candidate, err, text)
	}
	return b, errors.Join(
		compile(b.collector, filepath.Join(tree, "collector"), "./otelcol-otelgc"),
		compile(b.shop, filepath.Join(tree, "collector"), "./internal/e2e/shop"),
		compile(b.sidecar, tree, "./sidecar"),
	)
})

// TestOlder: where the service, the sidecar or the Collector is of the release before,
// the Collector says of each span what the service says of it. And each release reads
// the recordings of the other.
func TestOlder(t *testing.T) {
	if err := exec.Command("git", "cat-file", "-e", candidate).Run(); err != nil {
		t.Skipf("skipped: the programs of the release before: %s is not in this repository: %v", candidate, err)
	}
	now := programs(t)
	then, err := older()
	if err != nil {
		t.Fatal(err)
	}
	for _, mix := range []struct {
		name     string
		programs binaries
	}{
		{"service", binaries{shop: then.shop, sidecar: now.sidecar, collector: now.collector}},
		{"sidecar", binaries{shop: now.shop, sidecar: then.sidecar, collector: now.collector}},
		{"collector", binaries{shop: now.shop, sidecar: now.sidecar, collector: then.collector}},
		{"service and sidecar", binaries{shop: then.shop, sidecar: then.sidecar, collector: now.collector}},
	} {
		t.Run(mix.name, func(t *testing.T) {
			s := newSite(t, filepath.Join(t.TempDir(), "out"))
			s.programs = mix.programs
			collector := s.attribute(t)
			by := competitor(t)
			p := s.press(t, s.place(collector), by, "e2e-older", false)
			compare(t, p.got, p.said, sameJoin(p.gaps), "gc.pause", "unseen", by.cause)
			collector.stop(t)
		})
	}
	t.Run("recording", func(t *testing.T) {
		for name, way := range map[string]struct{ writer, reader string }{
			"older": {then.sidecar, now.sidecar}, "newer": {now.sidecar, then.sidecar},
		} {
			file := filepath.Join(t.TempDir(), name)
			quiet := []string{"OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none"}
			start(t, quiet, way.writer, "run", "--mode", "periodic", "--duration", "1s", "--board", "off", "--record", file).succeed(t)
			// Whether one second is enough for results is not the question here.
			text, _ := exec.Command(way.reader, "report", "--json", file).Output()
			var got struct {
				Experiment struct{ Probes []struct{ Mode string } }
			}
			if err := json.Unmarshal(text, &got); err != nil || len(got.Experiment.Probes) != 1 || got.Experiment.Probes[0].Mode != "periodic" {
				t.Errorf("a recording of the %s release: %v: want one periodic probe, the report says %.300s", name, err, text)
			}
		}
	})
}
