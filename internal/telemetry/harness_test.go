package telemetry

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

var update = flag.Bool("update", false, "write the golden files")

// wallOffset is what the tests take for the offset of wall time.
const wallOffset = 1_000_000 * time.Second

// recorder keeps the records that the SDK would export.
type recorder struct {
	least   log.Severity // lesser ones are not exported
	mu      sync.Mutex
	records []sdklog.Record
}

func (r *recorder) Enabled(_ context.Context, p sdklog.EnabledParameters) bool {
	return p.Severity >= r.least
}
func (*recorder) Shutdown(context.Context) error   { return nil }
func (*recorder) ForceFlush(context.Context) error { return nil }

func (r *recorder) OnEmit(_ context.Context, record *sdklog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, record.Clone())
	return nil
}

// taken returns the records since the previous call.
func (r *recorder) taken() []sdklog.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	records := r.records
	r.records = nil
	return records
}

// rig is a Telemetry on the SDK.
type rig struct {
	*Telemetry
	reader *sdkmetric.ManualReader
	events *recorder
	now    stall.Instant
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{reader: sdkmetric.NewManualReader(), events: &recorder{}}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	o.Meter = meters.Meter("otelgc")
	// The sidecar promises that no event has a key twice: the golden files show it.
	o.Logger = sdklog.NewLoggerProvider(sdklog.WithProcessor(r.events), sdklog.WithAllowKeyDuplication()).Logger("otelgc")
	var err error
	if r.Telemetry, err = New(o); err != nil {
		t.Fatal(err)
	}
	r.wall = func() stall.WallOffset { return stall.WallOffset{At: r.now, Offset: wallOffset, Error: 100} }
	r.Telemetry.events.since = 0
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// nextSecond ends the second.
func (r *rig) nextSecond() []sdklog.Record {
	r.now = r.now.Add(time.Second)
	r.Tick(r.now)
	return r.events.taken()
}

func collect(t *testing.T, reader *sdkmetric.ManualReader) []metricdata.Metrics {
	t.Helper()
	var m metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &m); err != nil {
		t.Fatal(err)
	}
	var all []metricdata.Metrics
	for _, s := range m.ScopeMetrics {
		all = append(all, s.Metrics...)
	}
	return all
}

// golden compares got with a file of testdata, or writes the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), go test -update writes it anew:\n%s", path, diff)
	}
}

// Loss returns what was kept back of the events of an origin since New, by the limit
// of events.
func (t *Telemetry) Loss(s stall.Origin) source.Loss {
	_, loss := t.events.state(s)
	return loss
}
