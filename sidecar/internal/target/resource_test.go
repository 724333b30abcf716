package target

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestServiceName(t *testing.T) {
	full := dotnetipc.ProcessInfo{CommandLine: "/app/Shop --port 80", EntryAssembly: "Shop.Web"}
	for _, c := range []struct {
		env  map[string]string
		info dotnetipc.ProcessInfo
		want string
	}{
		{map[string]string{"OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other"}, full, "shop"},
		{map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "a=b, service.name=my%20shop"}, full, "my shop"},
		{nil, full, "Shop.Web"},
		{nil, dotnetipc.ProcessInfo{CommandLine: "/app/Shop --port 80"}, "Shop"},
		{nil, dotnetipc.ProcessInfo{}, "unknown_service:dotnet"},
	} {
		if got := serviceName(c.env, c.info); got != c.want {
			t.Errorf("service of %v, %+v: got %q, want %q", c.env, c.info, got, c.want)
		}
	}
}

func TestResource(t *testing.T) {
	got := attribute.NewSet(resourceOf(dotnetipc.Identity{PID: 4711},
		map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "k8s.pod.uid=1-2,broken,=x,bad=%zz,process.pid=9"},
		dotnetipc.ProcessInfo{PID: 1, Version: "10.0.9", EntryAssembly: "shop"})...)
	want := attribute.NewSet(attribute.String("k8s.pod.uid", "1-2"), attribute.String("service.name", "shop"),
		attribute.Int("process.pid", 1), attribute.String("process.runtime.name", ".NET"), attribute.String("process.runtime.version", "10.0.9"))
	if diff := cmp.Diff(want.Encoded(attribute.DefaultEncoder()), got.Encoded(attribute.DefaultEncoder())); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
}

// TestShift: every instant of a record moves, and nothing that is not known.
func TestShift(t *testing.T) {
	c := gc.Collection{Start: gc.Known(stall.Instant(100)), Pauses: []gc.Pause{{Start: 90, End: 110, EndMax: 112, Suspend: gc.Known(time.Duration(3))}}}
	shiftCollection(&c, -50)
	if c.Start.Or(0) != 50 || !c.End.IsZero() || c.Pauses[0] != (gc.Pause{Start: 40, End: 60, EndMax: 62, Suspend: gc.Known(time.Duration(3))}) {
		t.Errorf("collection: got %+v", c)
	}
	s := dotnetgc.Stop{Begin: 90, Suspended: 93, RestartBegin: 110, RestartEnd: 112}
	shiftStop(&s, -50)
	if s.Begin != 40 || s.Suspended != 43 || s.RestartBegin != 60 || s.RestartEnd != 62 || s.Resumed != 0 {
		t.Errorf("stop: got %+v", s)
	}
}

func TestSameClock(t *testing.T) {
	second := stall.Instant(time.Second)
	h := nettrace.Header{Frequency: 1e9, SyncTicks: nettrace.Ticks(10 * second)}
	for _, c := range []struct {
		by            time.Duration
		before, after stall.Instant
		fine          bool
	}{
		{0, 10 * second, 10 * second, true},
		{0, 10*second - 1000, 10*second + 1000, true},
		{time.Hour, 10 * second, 10 * second, false},
		{time.Hour, 10*second + stall.Instant(time.Hour), 10*second + stall.Instant(time.Hour), true},
		{0, 8 * second, 9 * second, false},
		{0, 11 * second, 12 * second, false},
	} {
		if err := sameClock(h, c.by, c.before, c.after); (err == nil) != c.fine {
			t.Errorf("session begun between %d and %d, shifted by %v: got %v", c.before, c.after, c.by, err)
		}
	}
}
