package target

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/semconv"
)

// TestAzmcpExport watches a real process from its start to its end: what goes
// out is its own telemetry, and agrees with itself. It waits for us at its start: a
// session may begin while a process collects, and then lacks a part.
func TestAzmcpExport(t *testing.T) {
	port := filepath.Join(t.TempDir(), "port")
	r := newRig(t, Options{Listen: port})
	server := dotnettest.Start(t, dotnettest.Options{Env: []string{
		"OTEL_SERVICE_NAME=shop", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test%20bed",
		"DOTNET_GCgen0size=80000", "DOTNET_DiagnosticPorts=" + port + ",suspend",
	}})
	r.await("watching a .NET process", 1)
	server.Initialize()
	kinds := []string{"ephemeral", "background"}
	// Which collections the runtime makes is its own affair.
	for i, end := 0, time.Now().Add(3*time.Minute); i < 80 || !r.exported(kinds) && time.Now().Before(end); i++ {
		server.List(i % 4 / 3 * 1_000_000)
	}
	server.Stop()
	r.await("no longer watched", 1)
	all := r.stop()
	if len(all) != 1 {
		t.Fatalf("summaries: got %+v, want one", all)
	}
	s := all[0]
	if s.Service != "shop" || s.PID != server.PID() || s.Sessions != 1 || s.Why != "the process ended" || s.Lost != 0 || s.Incomplete != 0 {
		t.Errorf("summary: got %+v", s)
	}
	if s.FirstIndex != 1 || s.Collections.Total != s.LastIndex {
		t.Errorf("%d collections with indexes %d to %d, want all from 1 on", s.Collections.Total, s.FirstIndex, s.LastIndex)
	}
	for _, kind := range kinds {
		if s.Collections.Kinds[kind] == 0 {
			t.Errorf("no %s collection: %v", kind, s.Collections)
		}
	}
	r.await(`="`+sayCounts(s.Collections.Kinds)+`"`, 1)
	if share := s.PauseShare.Or(0); share <= 0 || share >= 1 || s.TimeInGC.IsZero() {
		t.Errorf("share of pauses %v, time in GC %v, want both known", s.PauseShare, s.TimeInGC)
	}
	checkEvents(t, r, server.PID(), s)
	checkMetrics(t, r, s)
	checkStatuses(t, r, server.PID())
}

// exported reports whether there are events of collections of all the kinds.
func (r *rig) exported(kinds []string) bool {
	seen := make(map[string]bool)
	for _, e := range r.events(semconv.EventCollection) {
		seen[text(e.GetAttributes(), semconv.AttrGCKind)] = true
	}
	return !slices.ContainsFunc(kinds, func(kind string) bool { return !seen[kind] })
}

func checkEvents(t *testing.T, r *rig, pid int, s Summary) {
	t.Helper()
	var sum, last int64
	events := r.events(semconv.EventCollection)
	seen := make(map[int64]bool)
	counted := 0
	for _, e := range events {
		if otlptest.Attribute(e.GetAttributes(), semconv.AttrHostThrottled) != nil {
			counted++
		}
		index := integer(e, semconv.AttrGCIndex)
		if seen[index] {
			t.Errorf("collection %d was sent twice", index)
		}
		seen[index] = true
		for key, want := range map[string]string{
			"service.name": "shop", "deployment.environment.name": "test bed", semconv.AttrRuntimeName: ".NET",
		} {
			if e.Resource[key] != want {
				t.Fatalf("resource %s: got %q, want %q", key, e.Resource[key], want)
			}
		}
		if got := integer(e, semconv.AttrProcessPID); got != int64(pid) || e.Resource[semconv.AttrProcessPID] != fmt.Sprintf("int_value:%d", pid) {
			t.Fatalf("process.pid of the event %d, of the resource %s, want %d", got, e.Resource[semconv.AttrProcessPID], pid)
		}
		starts, ends := integers(e, semconv.AttrPauseStart), integers(e, semconv.AttrPauseEnd)
		for i := range starts {
			sum += ends[i] - starts[i]
		}
		last = max(last, integer(e, semconv.AttrEnd))
	}
	// The counters are read ten times a second: of the last collection, and
	// where a reading came late, nothing is known.
	t.Logf("what the machine did is known of %d of %d collections", counted, len(events))
	if counted == 0 {
		t.Error("no collection says what the machine did to the process")
	}
	dropped := s.Collections.Total - uint64(len(events))
	if dropped == 0 && sum != s.PauseTotal {
		t.Errorf("pauses of the events: %v, of the summary %v", time.Duration(sum), time.Duration(s.PauseTotal))
	}
	if uint64(len(events)) > s.Collections.Total || len(events) == 0 {
		t.Errorf("%d events of %d collections", len(events), s.Collections.Total)
	}
}

func checkMetrics(t *testing.T, r *rig, s Summary) {
	t.Helper()
	var count int64
	for _, p := range sum(t, r, semconv.MetricDotnetCollections) {
		count += p.GetAsInt()
	}
	if uint64(count) != s.Collections.Total {
		t.Errorf("%s: %d, want %d", semconv.MetricDotnetCollections, count, s.Collections.Total)
	}
	paused := time.Duration(sum(t, r, semconv.MetricDotnetPauseTime)[0].GetAsDouble() * 1e9)
	if d := paused - time.Duration(s.PauseTotal); d > time.Microsecond || d < -time.Microsecond {
		t.Errorf("%s: %v, want %v", semconv.MetricDotnetPauseTime, paused, time.Duration(s.PauseTotal))
	}
	for _, name := range []string{
		semconv.MetricDotnetPauseDuration, semconv.MetricPauseDuration, semconv.MetricSuspendDuration, semconv.MetricDotnetAllocated,
		semconv.MetricDotnetHeapSize, semconv.MetricDotnetFragmentation, semconv.MetricCoverage, semconv.MetricPauseUtilization,
	} {
		if r.metric(name) == nil {
			t.Errorf("%s was not exported", name)
		}
	}
}

func sum(t *testing.T, r *rig, name string) []*metrics.NumberDataPoint {
	t.Helper()
	m := r.metric(name)
	if m == nil || len(m.GetSum().GetDataPoints()) == 0 {
		t.Fatalf("%s was not exported", name)
	}
	return m.GetSum().GetDataPoints()
}

// checkStatuses: the watermark never goes back, what came before the session is
// unseen, and nothing after it is.
func checkStatuses(t *testing.T, r *rig, pid int) {
	t.Helper()
	statuses := r.events(semconv.EventSourceStatus)
	if len(statuses) < 2 {
		t.Fatalf("%d statuses", len(statuses))
	}
	var mark int64
	var unseen int
	for _, e := range statuses {
		if text(e.GetAttributes(), semconv.AttrSource) != "dotnet" || integer(e, semconv.AttrTargetPID) != int64(pid) {
			t.Errorf("status of %s about process %d", text(e.GetAttributes(), semconv.AttrSource), integer(e, semconv.AttrTargetPID))
		}
		if now := integer(e, semconv.AttrWatermark); now < mark {
			t.Errorf("watermark %d after %d", now, mark)
		} else {
			mark = now
		}
		unseen += len(integers(e, semconv.AttrUnseenStart))
		if integer(e, semconv.AttrWallOffset) == 0 {
			t.Error("a status without the offset of wall time")
		}
	}
	if got := integers(statuses[0], semconv.AttrUnseenEnd); len(got) != 1 || got[0] > mark {
		t.Errorf("unseen in the first status: got %v, want what came before the session", got)
	}
}
