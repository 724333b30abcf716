package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// testPressed compares the joins where the machine takes its part: per cycle, where
// the one outside has to come to what the one inside says; exactly, where the span
// brings what its process said, and keeps it; and exactly where the process has no
// board and so does not know what the machine did, and the Collector does. With one
// it does not know either while the sidecar has not come to it for seconds.
func (s *site) testPressed(t *testing.T, out place) {
	const spin = "5ms" // longer than the kernel lets it run while another wants the CPU
	t.Run("per cycle", func(t *testing.T) {
		by := competitor(t)
		by.requests = 100
		p := s.press(t, out, by, "e2e-cycle", false)
		compare(t, p.got, p.said, sameJoin(p.gaps), "gc.pause", "unseen", by.cause)
	})
	t.Run("exactly", func(t *testing.T) {
		by := competitor(t)
		p := s.press(t, out, by, "e2e-exact", false, "-exact", "-decorated", "-spin", spin)
		compare(t, p.got, p.said, gained(p.gaps), "app", by.cause)
	})
	t.Run("exactly, without a board", func(t *testing.T) {
		by := competitor(t)
		// What a gap may have of its rest is not charged from outside.
		by.rest, by.requests = "2ms", 400
		p := s.press(t, out, by, "e2e-blind", true, "-exact", "-decorated", "-spin", spin)
		maps.DeleteFunc(p.said, func(_ string, w said) bool { return w.words["otelgc.fidelity"] != "exact" })
		compare(t, p.got, p.said, gained(p.gaps), "app_or_host", by.cause)
	})
}

// TestAttributionUnderPressure is [TestAttribution] where the machine is short.
func TestAttributionUnderPressure(t *testing.T) {
	s := newSite(t, filepath.Join(t.TempDir(), "out"))
	collector := s.attribute(t)
	s.testPressed(t, s.place(collector))
	collector.stop(t)
}

// TestTwoTiersUnderPressure is the same behind an agent and two gateways.
func TestTwoTiersUnderPressure(t *testing.T) {
	n := newTiers(t, long)
	n.agent.testPressed(t, n.place())
	n.stop(t)
}

// TestAttributionUnderQuota: the shop, its sidecar and a competitor share the quota
// of one cgroup, as the containers of a pod do. What the sidecar's probe was
// throttled the shop was, too.
func TestAttributionUnderQuota(t *testing.T) {
	in := []string{"sh", "-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(quota(t), "cgroup.procs")}
	s := newSite(t, filepath.Join(t.TempDir(), "out"))
	collector := s.attribute(t)
	// Half of them are throttled, and of those one in a hundred may differ.
	by := pressure{shop: in, sidecar: in, cause: "host.throttled", requests: 250, rest: "25ms"}
	p := s.press(t, s.place(collector), by, "e2e-quota", false)
	compare(t, p.got, p.said, sameJoin(p.gaps), "gc.pause", "unseen", by.cause)
	collector.stop(t)
}

// quota makes a cgroup that may have half of a CPU, and returns its directory.
func quota(t *testing.T) (dir string) {
	t.Helper()
	name := fmt.Sprintf("otelgc-e2e-%d", os.Getpid())
	var err error
	for _, way := range []struct{ root, file, text string }{
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"}, // v1, of a period of 100 ms
		{"/sys/fs/cgroup", "cpu.max", "50000 100000"},       // v2
	} {
		dir = filepath.Join(way.root, name)
		if err = os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) }) // the processes in it are gone
		if err = os.WriteFile(filepath.Join(dir, way.file), []byte(way.text), 0o644); err == nil {
			return dir
		}
	}
	t.Skipf("skipped: a quota of CPU time: %v: want root, and cgroups that can be made", err)
	return ""
}
