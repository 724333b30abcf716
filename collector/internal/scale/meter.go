package main

import (
	"context"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// What the connector says of itself.
const (
	metricUnattributed = "otelcol_connector_stall_spans_unattributed"
	metricHeldSpans    = "otelcol_connector_stall_held_spans"
	metricHeldBytes    = "otelcol_connector_stall_held_bytes"
	metricDropped      = "otelcol_connector_stall_events_dropped"
)

// meter reads what a component says of itself.
type meter struct {
	reader   *sdk.ManualReader
	provider *sdk.MeterProvider
	last     map[string]map[string]int64 // by metric and why, as of the last reading that had it
}

func newMeter() *meter {
	r := sdk.NewManualReader()
	return &meter{reader: r, provider: sdk.NewMeterProvider(sdk.WithReader(r)), last: map[string]map[string]int64{}}
}

// read takes a reading. A component that has stopped says nothing any more: what
// it said last stays.
func (m *meter) read() {
	var rm metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &rm); err != nil {
		return
	}
	for _, sm := range rm.ScopeMetrics {
		for _, metric := range sm.Metrics {
			var points []metricdata.DataPoint[int64]
			switch d := metric.Data.(type) {
			case metricdata.Sum[int64]:
				points = d.DataPoints
			case metricdata.Gauge[int64]:
				points = d.DataPoints
			}
			for _, p := range points {
				if m.last[metric.Name] == nil {
					m.last[metric.Name] = map[string]int64{}
				}
				why, _ := p.Attributes.Value("error.type")
				m.last[metric.Name][why.AsString()] = p.Value
			}
		}
	}
}

// sum returns a metric as of the last reading.
func (m *meter) sum(name string) (n int64) {
	for _, v := range m.last[name] {
		n += v
	}
	return n
}

// resident returns the memory of this process, proc(5), 0 if it is not told.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if f := strings.Fields(string(text)); err == nil && len(f) > 1 {
		pages, _ := strconv.ParseInt(f[1], 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}

// live returns what the last collection of this process found alive.
func live() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
