package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// TestConfigAsItIs: every configuration that is shipped is valid with no variable
// set, but for the agent's gateways. The Collector builds its pipelines for that.
func TestConfigAsItIs(t *testing.T) {
	for _, c := range []struct {
		file string
		env  []string
	}{
		{config, nil}, {attributed, nil}, {gatewayConfig, nil},
		{agentConfig, []string{"OTELGC_GATEWAYS={static: {hostnames: [a:4317, b:4317]}}"}},
		// As the chart has it.
		{agentConfig, []string{"OTELGC_GATEWAYS={dns: {hostname: otelgc-gateway}}"}},
	} {
		if text, err := validate(t, c.file, c.env); err != nil {
			t.Errorf("validate %s: %v\n%s", c.file, err, text)
		}
	}
}

// TestAgentWithoutGateways: the one variable that has no default is asked for.
func TestAgentWithoutGateways(t *testing.T) {
	text, err := validate(t, agentConfig, nil)
	if err == nil || !strings.Contains(text, "no resolvers specified") {
		t.Errorf("validate %s: got error %v and %q, want one about the resolver", agentConfig, err, text)
	}
}

// TestConfigWithTLS: what the chart lays over both tiers fits.
func TestConfigWithTLS(t *testing.T) {
	for over, file := range map[string]string{configs + "agent-tls.yaml": agentConfig, configs + "gateway-tls.yaml": gatewayConfig} {
		if text, err := validate(t, file, []string{"OTELGC_GATEWAYS={dns: {hostname: otelgc-gateway}}"}, "--config", over); err != nil {
			t.Errorf("validate %s over %s: %v\n%s", over, file, err, text)
		}
	}
}

func validate(t *testing.T, file string, env []string, more ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(programs(t).collector, append([]string{"validate", "--config", file}, more...)...)
	cmd.Env = append(cleanEnv(), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}
