package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSidecarRights: what collector/deploy/sidecar/daemonset.yaml runs, as root
// without a capability, does all that it is to do, and has nothing to complain of.
func TestSidecarRights(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("skipped: to run without capabilities: want root and setpriv (util-linux): uid %d, %v", os.Geteuid(), err)
	}
	board := filepath.Join(t.TempDir(), "board")
	env := []string{"OTELGC_BOARD=" + board, "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none"}
	sidecar := start(t, env, setpriv, "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs",
		programs(t).sidecar, "run", "--mode=periodic")
	eventually(t, "the board", func() error {
		if !strings.Contains(sidecar.output(), "writing the board") {
			return errors.New("the sidecar has not said that it writes it")
		}
		_, err := os.Stat(board)
		return err
	}, sidecar)
	sidecar.stop(t)
	if !sidecar.cmd.ProcessState.Success() || strings.Contains(sidecar.output(), "level=WARN") {
		t.Errorf("the sidecar ended with %v, and said\n%s", sidecar.cmd.ProcessState, sidecar.output())
	}
}
