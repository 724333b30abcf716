package e2e

import (
	"os/exec"
	"testing"
)

// TestConfigAsItIs: the configuration is valid with no variable set.
func TestConfigAsItIs(t *testing.T) {
	cmd := exec.Command(programs(t).collector, "validate", "--config", config)
	cmd.Env = cleanEnv()
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("validate %s: %v\n%s", config, err, text)
	}
}
