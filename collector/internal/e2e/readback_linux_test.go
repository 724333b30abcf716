package e2e

import (
	"bytes"
	"os"
	"path/filepath"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// event is one log record with a name, and the resource it came from.
type event struct {
	name            string
	service         string
	resource, attrs map[string]any
}

// point is one data point: Value of a number, Count and Sum of a histogram.
type point struct {
	metric          string
	service         string
	resource, attrs map[string]any
	value           float64
	count           uint64
}

// written is what the file exporters wrote. Lines that are no whole document
// are counted: a full disk cuts them, and the last may be under way.
type written struct {
	events []event
	points []point
	cut    int
}

// read parses the files as far as they are there.
func (s *site) read() written {
	var w written
	w.addFile(filepath.Join(s.out, "logs.jsonl"), w.addLogs)
	w.addFile(filepath.Join(s.out, "metrics.jsonl"), w.addMetrics)
	return w
}

func (w *written) addFile(path string, add func(line []byte) error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return // not yet
	}
	for line := range bytes.Lines(text) {
		if add(line) != nil {
			w.cut++
		}
	}
}

func (w *written) addLogs(line []byte) error {
	logs, err := new(plog.JSONUnmarshaler).UnmarshalLogs(line)
	if err != nil {
		return err
	}
	for _, rl := range logs.ResourceLogs().All() {
		res := rl.Resource().Attributes().AsRaw()
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				w.events = append(w.events, event{r.EventName(), name(res), res, r.Attributes().AsRaw()})
			}
		}
	}
	return nil
}

func (w *written) addMetrics(line []byte) error {
	metrics, err := new(pmetric.JSONUnmarshaler).UnmarshalMetrics(line)
	if err != nil {
		return err
	}
	for _, rm := range metrics.ResourceMetrics().All() {
		res := rm.Resource().Attributes().AsRaw()
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				w.addPoints(m, res)
			}
		}
	}
	return nil
}

func (w *written) addPoints(m pmetric.Metric, res map[string]any) {
	at := func(a pcommon.Map) point {
		return point{metric: m.Name(), service: name(res), resource: res, attrs: a.AsRaw()}
	}
	numbers := func(s pmetric.NumberDataPointSlice) {
		for _, d := range s.All() {
			p := at(d.Attributes())
			p.value = d.DoubleValue()
			if d.ValueType() == pmetric.NumberDataPointValueTypeInt {
				p.value = float64(d.IntValue())
			}
			w.points = append(w.points, p)
		}
	}
	switch m.Type() {
	case pmetric.MetricTypeSum:
		numbers(m.Sum().DataPoints())
	case pmetric.MetricTypeGauge:
		numbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeHistogram:
		for _, d := range m.Histogram().DataPoints().All() {
			p := at(d.Attributes())
			p.value, p.count = d.Sum(), d.Count()
			w.points = append(w.points, p)
		}
	}
}

func name(resource map[string]any) string {
	s, _ := resource["service.name"].(string)
	return s
}
