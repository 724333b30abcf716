package queries

import (
	"os/exec"
	"testing"
)

const rules = "../../deploy/prometheus/otelgc.rules.yaml"

// TestRules: promtool finds the rules valid, and they do on made-up series what
// they should.
func TestRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool: install Debian's prometheus")
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint=all", "--lint-fatal", rules},
		{"test", "rules", "../../deploy/prometheus/otelgc.rules.test.yaml"},
	} {
		if text, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, text)
		}
	}
}
