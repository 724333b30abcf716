package queries

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// slowSpan is a request of 300 ms of a service that was watched exactly, from
// inside: a third of it its own, two thirds of it assists. And one of 300 ms of
// a service that nobody watches.
const slowSpan = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"slow"}}]},
"scopeSpans":[{"spans":[{"traceId":"0123456789abcdef0123456789abcdef","spanId":"%016x","name":"report","kind":2,
"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[
{"key":"otelgc.fidelity","value":{"stringValue":"exact"}},{"key":"otelgc.gc.overlap","value":{"stringValue":"one_collection"}},
{"key":"otelgc.stall.gc.assist","value":{"doubleValue":0.2}},{"key":"otelgc.stall.app","value":{"doubleValue":0.1}}]}]}]},
{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"dark"}}]},
"scopeSpans":[{"spans":[{"traceId":"0123456789abcdef0123456789abcdee","spanId":"%016x","name":"report","kind":2,
"startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}]}`

// stalls are those of the service of slowSpan, as it counts them itself.
const stalls = `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"slow"}}]},
"scopeMetrics":[{"metrics":[{"name":"otelgc.request.stall.duration","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[
{"timeUnixNano":"%[1]d","count":"%[2]d","sum":%[3]g,"explicitBounds":[0.1,1],"bucketCounts":["0","%[2]d","0"],"attributes":[
{"key":"otelgc.cause","value":{"stringValue":"gc.assist"}},{"key":"otelgc.fidelity","value":{"stringValue":"exact"}}]}]}}]}]}]}`

// strayEvent is one that says neither which host nor which process it is of.
const strayEvent = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"%d","eventName":"otelgc.jitter.gap"}]}]}]}`

// stolen is a probe of this host that lost a tenth of the %d seconds that it
// watched to the hypervisor, on all CPUs at once, and dropped one gap in each. And
// a process there, in a container, in which the machine has another name.
const stolen = `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"stolen"}},
{"key":"host.name","value":{"stringValue":"%[1]s"}},{"key":"otelgc.boot.id","value":{"stringValue":"stolen"}}]},
"scopeMetrics":[{"metrics":[
{"name":"otelgc.jitter.observed.time","unit":"s","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
{"timeUnixNano":"%[2]d","asDouble":%[3]d,"attributes":[{"key":"otelgc.jitter.mode","value":{"stringValue":"spin"}}]}]}},
{"name":"otelgc.monitor.dropped","unit":"{item}","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
{"timeUnixNano":"%[2]d","asInt":"%[3]d","attributes":[
{"key":"otelgc.item","value":{"stringValue":"gap"}},{"key":"error.type","value":{"stringValue":"ring_full"}}]}]}},
{"name":"otelgc.jitter.gap.duration","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[%[4]s,%[5]s]}}]}]},
{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"contained"}},
{"key":"host.name","value":{"stringValue":"contained-0"}},{"key":"otelgc.boot.id","value":{"stringValue":"stolen"}}]},
"scopeMetrics":[{"metrics":[{"name":"otelgc.gc.pause.duration","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[
{"timeUnixNano":"%[2]d","count":"%[3]d","sum":%[3]d,"explicitBounds":[0.01],"bucketCounts":["0","%[3]d"]}]}}]}]}]}`

const stolenGaps = `{"timeUnixNano":"%[1]d","count":"%[2]d","sum":%[3]g,"explicitBounds":[0.01,1],"bucketCounts":["0","%[2]d","0"],"attributes":[
{"key":"otelgc.cause","value":{"stringValue":"host.steal"}},{"key":"otelgc.jitter.mode","value":{"stringValue":"spin"}},
{"key":"otelgc.jitter.scope","value":{"stringValue":"%[4]s"}}]}`

// troubled sends, for the n-th time, what a machine in trouble sends: without it
// the queries that ask for trouble would have no answer on most machines.
func (s *site) troubled(n int) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	now := time.Now()
	start, end := now.Add(-300*time.Millisecond).UnixNano(), now.UnixNano()
	gaps := func(scope string) string { return fmt.Sprintf(stolenGaps, end, n, float64(n)/10, scope) }
	return errors.Join(
		s.post("traces", fmt.Sprintf(slowSpan, 2*n, start, end, 2*n+1, start, end)),
		s.post("metrics", fmt.Sprintf(stalls, end, n, float64(n)/5)),
		s.post("logs", fmt.Sprintf(strayEvent, end)),
		s.post("metrics", fmt.Sprintf(stolen, host, end, n, gaps("cpu"), gaps("machine"))),
	)
}

// post sends one OTLP document to the Collector.
func (s *site) post(signal, body string) error {
	r, err := client.Post("http://"+s.http+"/v1/"+signal, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("send %s: status %s", signal, r.Status)
	}
	return nil
}
