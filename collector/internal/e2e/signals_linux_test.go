package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestSignals reads back, for each way a service can send, what a join of the
// service and its host needs: on one clock, under one boot id.
func TestSignals(t *testing.T) {
	built := programs(t)
	for _, way := range []struct {
		name, binary, protocol string
		probe                  []string
	}{
		{"one init call over gRPC", built.http, "grpc", []string{"--mode", "periodic"}},
		{"one init call over HTTP", built.http, "http/protobuf", []string{"--mode", "periodic"}},
		// The widest probe that this machine allows.
		{"providers of the user", built.providers, "http/protobuf", nil},
	} {
		t.Run(way.name, func(t *testing.T) {
			dir := t.TempDir()
			s, board := newSite(t, filepath.Join(dir, "out")), filepath.Join(dir, "board")
			began := monotonic(t)
			collector := s.collect(t)
			sidecar := s.watch(t, way.protocol, board, way.probe...)
			app, _, quit := s.serve(t, way.binary, way.protocol, board)

			service := "e2e-" + filepath.Base(way.binary)
			expectEvents(t, s, began, service, collector, sidecar, app)
			expectHistograms(t, s, service, collector, sidecar, app)
			expectScrape(t, s, collector, sidecar, app)
			quit()
			for _, p := range []*process{app, sidecar, collector} {
				p.stop(t)
				expectEnd(t, p)
			}
		})
	}
}

// expectEnd: a program ended well, or it says that what it had 5 s to hand over, which
// is its limit, was not taken by then.
func expectEnd(t *testing.T, p *process) {
	t.Helper()
	if !p.cmd.ProcessState.Success() && !strings.Contains(p.output(), "context deadline exceeded") {
		t.Errorf("%s ended with %v\n%s", p.name, p.cmd.ProcessState, tail(p.output(), 20000))
	}
}

// expectEvents waits for a collection of the service, a gap of the sidecar and
// the status of a source of each, and checks the clock they tell.
func expectEvents(t *testing.T, s *site, began int64, service string, ps ...*process) {
	t.Helper()
	wanted := []struct{ service, event string }{
		{service, "otelgc.gc.collection"},
		{service, "otelgc.source.status"},
		{"e2e-sidecar", "otelgc.jitter.gap"},
		{"e2e-sidecar", "otelgc.source.status"},
	}
	boot := bootID(t)
	for _, want := range wanted {
		eventually(t, want.event+" of "+want.service, func() error {
			e, ok := find(s.read().events, want.service, want.event)
			if !ok {
				return fmt.Errorf("not among what the Collector wrote")
			}
			for _, where := range []map[string]any{e.resource, e.attrs} {
				if got := where["otelgc.boot.id"]; got != boot {
					t.Errorf("%s: otelgc.boot.id = %v, want %s", want.event, got, boot)
				}
			}
			checkClock(t, e, began)
			return nil
		}, ps...)
	}
}

func find(events []event, service, name string) (event, bool) {
	for _, e := range events {
		if e.service == service && e.name == name {
			return e, true
		}
	}
	return event{}, false
}

// checkClock: an occurrence lies, on CLOCK_MONOTONIC, between the begin of the
// test and now. Something may have begun just before it was watched, so what
// is checked is the end; a process never saw anything before it was started.
func checkClock(t *testing.T, e event, began int64) {
	t.Helper()
	now := monotonic(t)
	start, ok1 := e.attrs["otelgc.start"].(int64)
	end, ok2 := e.attrs["otelgc.end"].(int64)
	if !ok1 || !ok2 {
		t.Errorf("%s: otelgc.start = %v, otelgc.end = %v, want integers", e.name, e.attrs["otelgc.start"], e.attrs["otelgc.end"])
		return
	}
	if start > end || start < began || end > now {
		t.Errorf("%s: [%d, %d) is not within the test, [%d, %d)", e.name, start, end, began, now)
	}
}

// expectHistograms waits for the pauses of the service and the gaps of the host.
func expectHistograms(t *testing.T, s *site, service string, ps ...*process) {
	t.Helper()
	for _, want := range []struct{ service, metric string }{
		{service, "go.memory.gc.pause.duration"},
		{service, "otelgc.gc.pause.duration"},
		{"e2e-sidecar", "otelgc.jitter.gap.duration"},
	} {
		eventually(t, want.metric+" of "+want.service, func() error {
			for _, p := range s.read().points {
				if p.metric == want.metric && p.service == want.service && p.count > 0 {
					return nil
				}
			}
			return fmt.Errorf("no histogram with a sample among what the Collector wrote")
		}, ps...)
	}
}

// expectScrape waits for the same histograms on the page for Prometheus, under
// the boot id that joins them.
func expectScrape(t *testing.T, s *site, ps ...*process) {
	t.Helper()
	for _, want := range []string{"go_memory_gc_pause_duration_seconds_bucket", "otelgc_jitter_gap_duration_seconds_bucket"} {
		eventually(t, want+" for Prometheus", func() error {
			page, err := s.scrape()
			if err != nil {
				return err
			}
			for line := range strings.Lines(page) {
				if strings.HasPrefix(line, want+"{") && strings.Contains(line, `otelgc_boot_id="`+bootID(t)+`"`) {
					return nil
				}
			}
			return fmt.Errorf("not on the page of %d bytes", len(page))
		}, ps...)
	}
}
