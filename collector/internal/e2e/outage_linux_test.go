package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Bounds far above what the programs need (tens of MB), and far below what
// they would hold if they kept everything that they cannot send.
const (
	senderMemory    = 512 << 20
	collectorMemory = 1 << 30
	diskSize        = 8 << 20
)

// TestOutage: the Collector dies under a service and a sidecar, comes back,
// and later its disk is full. Nobody hangs, nobody grows without bound, and
// what was lost is counted.
func TestOutage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	disk := mountDisk(t, out)
	s, board := newSite(t, out), filepath.Join(dir, "board")
	s.lossy = true
	collector := s.collect(t)
	sidecar := s.watch(t, "grpc", board, "--mode", "periodic")
	app, url, quit := s.serve(t, programs(t).http, "grpc", board)
	senders := []*process{sidecar, app}
	expectStatus(t, s, monotonic(t), collector, sidecar, app)

	t.Log("the Collector is killed")
	said := make([]int, len(senders))
	for i, p := range senders {
		said[i] = len(p.output())
	}
	collector.kill()
	// A few seconds, and until both have given an export up.
	rounds := 0
	eventually(t, "exports that are given up", func() error {
		rounds++
		checkServing(t, url, senders...)
		for i, p := range senders {
			if !strings.Contains(p.output()[said[i]:], "code = Unavailable") {
				return fmt.Errorf("%s has not said so", p.name)
			}
		}
		if rounds < 10 {
			return fmt.Errorf("only %d looks", rounds)
		}
		return nil
	}, senders...)

	t.Log("the Collector is back")
	collector = s.collect(t)
	expectStatus(t, s, monotonic(t), collector, sidecar, app)
	for _, service := range []string{"e2e-http", "e2e-sidecar"} {
		eventually(t, "otelgc.monitor.dropped of "+service, func() error {
			for _, p := range s.read().points {
				why := p.attrs["error.type"]
				if p.metric == "otelgc.monitor.dropped" && p.service == service && p.value > 0 && (why == "export" || why == "queue_full") {
					t.Logf("%s lost %v: %v", service, p.value, p.attrs)
					return nil
				}
			}
			return errors.New("nothing was counted as lost")
		}, collector, sidecar, app)
	}

	if disk {
		testFullDisk(t, s, url, collector, senders)
	}

	t.Log("the Collector is killed, and everyone has to go")
	collector.kill()
	quit()
	for _, p := range senders {
		p.stop(t)
	}
}

// checkServing: the service answers and the senders' memory is bounded.
func checkServing(t *testing.T, url string, senders ...*process) {
	t.Helper()
	for _, p := range senders {
		p.alive(t)
		if rss := p.resident(t); rss > senderMemory {
			t.Errorf("%s holds %d bytes, want at most %d", p.name, rss, int64(senderMemory))
		}
	}
	if _, err := get(url); err != nil {
		t.Errorf("the service does not answer: %v", err)
	}
}

// expectStatus waits until the service and the sidecar have both said
// something about the time after since.
func expectStatus(t *testing.T, s *site, since int64, ps ...*process) {
	t.Helper()
	eventually(t, "source status from now on", func() error {
		seen := map[string]bool{}
		for _, e := range s.read().events {
			if end, ok := e.attrs["otelgc.end"].(int64); ok && e.name == "otelgc.source.status" && end > since {
				seen[e.service] = true
			}
		}
		if !seen["e2e-http"] || !seen["e2e-sidecar"] {
			return fmt.Errorf("only of %v", seen)
		}
		return nil
	}, ps...)
}
