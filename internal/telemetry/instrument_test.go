package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestSeriesAreBounded: whatever words a source and a companion come with, each
// attribute of each metric has a bounded number of values, short and valid, and
// nothing is lost from the sums.
func TestSeriesAreBounded(t *testing.T) {
	r := newRig(t, Options{GoMetrics: true, DotnetMetrics: true})
	const n = 3 * maxValues
	for i := range n {
		word := fmt.Sprintf("Reason(%d)", uint32(i)*0x9E3779B9)
		switch i % 3 {
		case 1:
			word += "\xff"
		case 2:
			word += strings.Repeat("x", i*maxValueLength)
		}
		r.Suspension(stall.Interval{Start: 1, End: 1001, Origin: stall.GoTrace}, word, word, stall.Exact)
		r.Dropped(word, "why", 1)
		r.Dropped("item", word, 1)
		r.Collection(&gc.Collection{
			Cycles: 1, Kind: gc.Background, Trigger: gc.Trigger(word), Origin: stall.Dotnet,
			Promoted: gc.Known(gc.Bytes(1)), HeapBefore: gc.Known(gc.Bytes(1)), Generation: gc.Known(i),
			Pauses: []gc.Pause{{Start: 1, End: 2}},
		})
		r.Request(&Request{Route: strings.ToValidUTF8(word, "?"), Share: &stall.Share{Total: time.Second, Charged: [stall.NumCauses]time.Duration{stall.GCPause: time.Second}}})
	}
	count := map[string]int64{}
	for _, m := range collect(t, r.reader) {
		values := map[attribute.Key]map[string]bool{}
		each(m, func(of attribute.Set, n int64) {
			count[m.Name] += n
			for i := of.Iter(); i.Next(); {
				a := i.Attribute()
				if values[a.Key] == nil {
					values[a.Key] = map[string]bool{}
				}
				values[a.Key][a.Value.String()] = true
			}
		})
		for key, of := range values {
			if len(of) > maxValues+1 {
				t.Errorf("%s: %d values of %s, want %d at most", m.Name, len(of), key, maxValues+1)
			}
			for v := range of {
				if len(v) > maxValueLength || !utf8.ValidString(v) {
					t.Errorf("%s: %s is %.40q..., %d bytes", m.Name, key, v, len(v))
				}
			}
		}
	}
	for name, want := range map[string]int64{
		semconv.MetricSuspensionDuration: n, semconv.MetricDropped: 2 * n, semconv.MetricPromoted: n, semconv.MetricHeapBefore: n,
		semconv.MetricGoCycles: n, semconv.MetricRequests: n, semconv.MetricRequestStall: n,
	} {
		if count[name] != want {
			t.Errorf("%s: %d in all its series, want %d", name, count[name], want)
		}
	}
}

// each yields the series of a metric, and how many it has counted.
func each(m metricdata.Metrics, yield func(attribute.Set, int64)) {
	switch d := m.Data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			yield(p.Attributes, int64(p.Count))
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			yield(p.Attributes, int64(p.Count))
		}
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			yield(p.Attributes, p.Value)
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			yield(p.Attributes, 0)
		}
	}
}

// TestOther: what is over the bound has the value that says so.
func TestOther(t *testing.T) {
	var w cardinalityLimit
	for i := range maxValues {
		w.bound([]attribute.KeyValue{attribute.Int("n", i), attribute.String(semconv.AttrErrorType, fmt.Sprint(i)), attribute.String(semconv.AttrReason, fmt.Sprint(i))})
	}
	got := w.bound([]attribute.KeyValue{attribute.Int("n", -1), attribute.String(semconv.AttrErrorType, "x"), attribute.String(semconv.AttrReason, "7")})
	if got[0].Value.AsInt64() != -1 || got[1].Value.AsString() != "_OTHER" || got[2].Value.AsString() != "7" {
		t.Errorf("got %v, want -1, _OTHER and 7", got)
	}
}

// TestLosses: what is counted as dropped can be read without a reader of metrics.
func TestLosses(t *testing.T) {
	tel, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	tel.Dropped("gap", "ring_full", 4)
	tel.Dropped("gap", "ring_full", 2)
	tel.Dropped("window", "queue", 1)
	tel.Dropped("window", "late", 0)
	want := map[[2]string]uint64{{"gap", "ring_full"}: 6, {"window", "queue"}: 1}
	if diff := cmp.Diff(want, tel.Losses()); diff != "" {
		t.Errorf("losses (-want +got):\n%s", diff)
	}
	for i := range 2 * maxLosses {
		tel.Dropped("item", fmt.Sprint(i), 1)
	}
	all := tel.Losses()
	if n := all[[2]string{"other", "other"}]; len(all) != maxLosses+1 || n == 0 {
		t.Errorf("%d series, %d counted as other, want at most %d series besides it", len(all), n, maxLosses)
	}
}
