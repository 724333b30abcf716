package otlptest

import (
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Metric is one metric as it was received.
type Metric struct {
	Resource map[string]string
	Scope    string
	*metrics.Metric
}

// Log is one log record as it was received.
type Log struct {
	Resource map[string]string
	Scope    string
	*logs.LogRecord
}

// Span is one span as it was received.
type Span struct {
	Resource map[string]string
	Scope    string
	*trace.Span
}

// Metrics returns what was received so far, oldest first.
func (r *Receiver) Metrics() (all []Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rm := range r.metrics {
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				all = append(all, Metric{attributesOf(rm.GetResource()), sm.GetScope().GetName(), m})
			}
		}
	}
	return all
}

// Logs returns what was received so far, oldest first.
func (r *Receiver) Logs() (all []Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rl := range r.logs {
		for _, sl := range rl.GetScopeLogs() {
			for _, record := range sl.GetLogRecords() {
				all = append(all, Log{attributesOf(rl.GetResource()), sl.GetScope().GetName(), record})
			}
		}
	}
	return all
}

// Spans returns what was received so far, oldest first.
func (r *Receiver) Spans() (all []Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range r.spans {
		for _, ss := range rs.GetScopeSpans() {
			for _, span := range ss.GetSpans() {
				all = append(all, Span{attributesOf(rs.GetResource()), ss.GetScope().GetName(), span})
			}
		}
	}
	return all
}

// Attribute returns the value of key in attributes, nil if it is not there.
func Attribute(attributes []*common.KeyValue, key string) *common.AnyValue {
	for _, kv := range attributes {
		if kv.GetKey() == key {
			return kv.GetValue()
		}
	}
	return nil
}

func attributesOf(r *resource.Resource) map[string]string {
	m := make(map[string]string)
	for _, kv := range r.GetAttributes() {
		if _, ok := kv.GetValue().GetValue().(*common.AnyValue_StringValue); ok {
			m[kv.GetKey()] = kv.GetValue().GetStringValue()
		} else {
			m[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return m
}
