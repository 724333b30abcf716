package queries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

// write writes the files of a Collector, and returns the names by span id.
func write(t *testing.T, dir string, all map[string]sent) map[string]string {
	t.Helper()
	names := map[string]string{}
	var logs, traces []any
	for name, s := range all {
		id := fmt.Sprintf("%016x", len(names)+1)
		names[id] = name
		who := m{"service.name": "hostile", "process.pid": int64(7)}
		if !s.nowhere {
			who["otelgc.boot.id"] = "boot of " + name
		}
		var events []m
		for _, at := range []int64{1e9, 2e9, 3e9} {
			events = append(events, stamped(status(at-1e9, at, m{"otelgc.source": "probe.spin", "process.pid": int64(77)})))
			if !s.silent {
				events = append(events, status(at-1e9, at, nil))
			}
		}
		records, stamped := []any{}, []any{}
		for _, e := range append(events, s.events...) {
			a := m{"otelgc.source": "gcwatch"}
			maps.Copy(a, who)
			maps.Copy(a, s.resource)
			maps.Copy(a, e)
			delete(a, "eventName")
			delete(a, "otelgc.stamp")
			list := &records
			if e["otelgc.stamp"] != nil {
				list = &stamped
			}
			*list = append(*list, m{"eventName": e["eventName"], "timeUnixNano": fmt.Sprint(ms(1000)), "attributes": attributes(a)})
		}
		logs = append(logs,
			m{"resource": m{"attributes": attributes(s.resource)}, "scopeLogs": []any{m{"logRecords": records}}},
			m{"resource": m{"attributes": attributes(both(m{"otelgc.stamp": "sidecar"}, s.resource))}, "scopeLogs": []any{m{"logRecords": stamped}}})
		if s.span == [2]uint64{} {
			s.span = whole
		}
		span := m{"traceId": fmt.Sprintf("%032x", len(names)), "spanId": id, "name": name, "startTimeUnixNano": fmt.Sprint(s.span[0])}
		if s.span[1] > 0 { // the Collector writes no zero
			span["endTimeUnixNano"] = fmt.Sprint(s.span[1])
		}
		maps.Copy(who, s.resource)
		maps.Copy(who, s.says)
		traces = append(traces, m{"resource": m{"attributes": attributes(who)}, "scopeSpans": []any{m{"spans": []any{span}}}})
	}
	for file, document := range map[string]m{"logs.jsonl": {"resourceLogs": logs}, "traces.jsonl": {"resourceSpans": traces}} {
		text, err := json.Marshal(document)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), append(text, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// attributed returns what the connector says of the spans in dir, whatever they say.
func attributed(t *testing.T, dir string, c attribution.Config) map[string]*share {
	t.Helper()
	lines := func(name string) [][]byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.SplitAfter(bytes.TrimSpace(text), []byte("\n"))
	}
	a := attribution.New(c)
	for _, line := range lines("logs.jsonl") {
		ld, err := new(plog.JSONUnmarshaler).UnmarshalLogs(line)
		if err != nil {
			t.Fatal(err)
		}
		a.Learn(ld)
	}
	var mu sync.Mutex
	var text []byte
	sink := attribution.Sink{Take: func(p *attribution.Parcel) {
		defer p.Done(true)
		line, err := new(ptrace.JSONMarshaler).MarshalTraces(p.Spans)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		text = append(append(text, line...), '\n')
	}}
	for _, line := range lines("traces.jsonl") {
		td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					s.Attributes().RemoveIf(func(k string, _ pcommon.Value) bool { return strings.HasPrefix(k, "otelgc.") })
				}
			}
		}
		a.Hold(td, sink, time.Unix(0, wallOffset))
	}
	a.Flush()
	return charged(t, text)
}

// attributes are those of OTLP in JSON.
func attributes(of m) []any {
	all := []any{}
	for key, v := range of {
		all = append(all, m{"key": key, "value": value(v)})
	}
	return all
}

func value(of any) m {
	switch v := of.(type) {
	case int, int64:
		return m{"intValue": fmt.Sprint(v)}
	case []int64:
		list := []any{}
		for _, n := range v {
			list = append(list, value(n))
		}
		return m{"arrayValue": m{"values": list}}
	default:
		return m{"stringValue": v}
	}
}
