package queries

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

const dashboard = "../../deploy/dashboard/otelgc.json"

// TestDashboardIsFresh: the dashboard in the tree is what dashboard.js makes.
func TestDashboardIsFresh(t *testing.T) {
	cmd := node(t, "@grafana/grafana-foundation-sdk", "../../deploy/dashboard/dashboard.js")
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("dashboard.js: %v\n%s", err, complaints.Bytes())
	}
	if *update {
		if err := os.WriteFile(dashboard, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("stale; go test ./internal/queries -run TestDashboardIsFresh -update (-want +got):\n%s", diff)
	}
}

// TestDashboardIsGrafanas: the dashboard, the options of its panels and their
// fields are of the types that Grafana publishes of them.
func TestDashboardIsGrafanas(t *testing.T) {
	if text, err := node(t, "@grafana/schema", "schema.js", dashboard).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// target is one query of a panel: as it is written, and as it is asked.
type target struct {
	panel, raw, expr string
	exemplar         bool // Grafana shows its exemplars, too
}

// targets reads the queries of the dashboard, with its variables at their
// defaults.
func targets(t *testing.T) []target { return targetsOf(t, "service", ".*") }

// targetsOf reads them with another value of a variable.
func targetsOf(t *testing.T, name, value string) []target {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct {
				Expr     string
				Exemplar bool
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var all []target
	variables := strings.NewReplacer("$__rate_interval", "1m", "$__range", "1m", "$"+name, value)
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all = append(all, target{p.Title, q.Expr, variables.Replace(q.Expr), q.Exemplar})
		}
	}
	if len(all) == 0 {
		t.Fatal("the dashboard has no query")
	}
	return all
}
