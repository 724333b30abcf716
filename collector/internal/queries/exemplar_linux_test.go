package queries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// TestExemplars: each exemplar that the Collector's page and Prometheus have of a stall
// leads to the request that was stalled by so much of that cause, and to its span in what the
// Collector handed on. It asks what docs/answer.md and the dashboard ask.
func TestExemplars(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Collector and a Prometheus")
	}
	s := newSite(t)
	p := s.prometheus(t)
	shop := newTracedShop(t, s)
	all := []*process{s.collector, p.process}

	eventually(t, "an exemplar on the page", func() error {
		shop.order()
		page, err := openMetrics("http://" + s.page + "/metrics")
		if err != nil {
			return err
		}
		found := onPage(t, page)
		if len(found) == 0 {
			return fmt.Errorf("none on a page of %d bytes", len(page))
		}
		return shop.check(t, found)
	}, all...)
	plain, err := get("http://" + s.page + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain, "trace_id") || !strings.Contains(plain, "\notelgc_request_stall_time_seconds_total{") {
		t.Error("the page is another one for those that do not ask for OpenMetrics")
	}

	asked := map[string]string{"the page of backends": documented(t)}
	for _, q := range exemplarTargets(t, "shop") {
		asked["the panel "+q.panel] = q.expr
	}
	for who, query := range asked {
		eventually(t, "an exemplar for what "+who+" asks", func() error {
			shop.order()
			found, err := p.exemplars(query)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("no exemplar of %s", query)
			}
			return shop.check(t, found)
		}, all...)
	}

	// From the exemplar to the trace.
	found, err := p.exemplars(documented(t))
	if err != nil || len(found) == 0 {
		t.Fatalf("%d exemplars, error %v", len(found), err)
	}
	eventually(t, "the span of the exemplar", func() error {
		text, err := os.ReadFile(filepath.Join(s.out, "traces.jsonl"))
		if err == nil && !strings.Contains(string(text), `"traceId":"`+found[0].trace+`","spanId":"`+found[0].span+`"`) {
			err = fmt.Errorf("no span %s of trace %s in %d bytes", found[0].span, found[0].trace, len(text))
		}
		return err
	}, all...)
}

// exemplar is one, as it was found.
type exemplar struct {
	service, cause, trace, span string
	value                       float64 // seconds
}

var (
	bucketLine = regexp.MustCompile(`(?m)^otelgc_request_stall_duration_seconds_bucket\{(.*)\} \S+ # \{(.*)\} (\S+)`)
	labelPair  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// onPage returns the exemplars of the histogram of stalls on a page of OpenMetrics.
func onPage(t *testing.T, page string) (all []exemplar) {
	t.Helper()
	for _, m := range bucketLine.FindAllStringSubmatch(page, -1) {
		all = append(all, newExemplar(t, labels(m[1]), labels(m[2]), m[3]))
	}
	return all
}

func labels(text string) map[string]string {
	all := map[string]string{}
	for _, m := range labelPair.FindAllStringSubmatch(text, -1) {
		all[m[1]] = m[2]
	}
	return all
}

func newExemplar(t *testing.T, series, of map[string]string, value string) exemplar {
	t.Helper()
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		t.Fatal(err)
	}
	return exemplar{series["service_name"], series["otelgc_cause"], of["trace_id"], of["span_id"], v}
}

func openMetrics(url string) (string, error) {
	r, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/openmetrics-text") {
		return "", fmt.Errorf("the page is %s", kind)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	return string(text), err
}

// exemplars asks Prometheus for those of the series in a query, of the last hour.
func (p *prometheus) exemplars(query string) (all []exemplar, err error) {
	var answer struct {
		Data []struct {
			SeriesLabels map[string]string
			Exemplars    []struct {
				Labels map[string]string
				Value  float64 `json:",string"`
			}
		}
	}
	now := time.Now()
	ask := url.Values{"query": {query}, "start": {fmt.Sprint(now.Add(-time.Hour).Unix())}, "end": {fmt.Sprint(now.Add(time.Minute).Unix())}}
	if err := p.get("/api/v1/query_exemplars?"+ask.Encode(), &answer); err != nil {
		return nil, err
	}
	for _, s := range answer.Data {
		for _, e := range s.Exemplars {
			all = append(all, exemplar{s.SeriesLabels["service_name"], s.SeriesLabels["otelgc_cause"], e.Labels["trace_id"], e.Labels["span_id"], e.Value})
		}
	}
	return all, nil
}

// documented returns the query that docs/answer.md asks the exemplars of.
func documented(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)/api/v1/query_exemplars .*?--data-urlencode 'query=(.*?)'`).FindSubmatch(doc)
	if found == nil {
		t.Fatal("docs/answer.md does not ask for exemplars")
	}
	return string(found[1])
}

// exemplarTargets returns the queries of the dashboard whose exemplars are shown.
func exemplarTargets(t *testing.T, service string) (all []target) {
	t.Helper()
	for _, q := range targetsOf(t, "service", service) {
		if q.exemplar {
			all = append(all, q)
		}
	}
	if len(all) == 0 {
		t.Fatal("the dashboard shows no exemplars")
	}
	return all
}

// tracedShop is a service in this process: each of its requests has a span, and calls
// the collector.
type tracedShop struct {
	handler http.Handler
	tracer  trace.Tracer

	mu      sync.Mutex
	stalled map[trace.TraceID]request
}

// request is what stalled one of them, as the service itself was told.
type request struct {
	span    trace.SpanID
	charged [stall.NumCauses]time.Duration
}

func newTracedShop(t *testing.T, s *site) *tracedShop {
	t.Helper()
	ctx := t.Context()
	metrics, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL("http://"+s.grpc))
	if err != nil {
		t.Fatal(err)
	}
	traces, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL("http://"+s.grpc))
	if err != nil {
		t.Fatal(err)
	}
	of := resource.NewSchemaless(attribute.String("service.name", "shop"))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithResource(of), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics, sdkmetric.WithInterval(time.Second))))
	tracers := sdktrace.NewTracerProvider(sdktrace.WithResource(of), sdktrace.WithBatcher(traces, sdktrace.WithBatchTimeout(200*time.Millisecond)))
	shop := &tracedShop{tracer: tracers.Tracer("shop"), stalled: map[trace.TraceID]request{}}
	m, err := otelgc.Start(otelgc.WithMeterProvider(meters), otelgc.WithExactBudget(1), otelgc.WithBoard(""), otelgc.WithOnSlowRequest(0, shop.keep))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := errors.Join(m.Shutdown(limit), meters.Shutdown(limit), tracers.Shutdown(limit)); err != nil {
			t.Logf("end of the service: %v", err) // the Collector may be gone
		}
	})
	shop.handler = m.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.GC() }))
	return shop
}

// order makes one request, which waits for a collection.
func (s *tracedShop) order() {
	ctx, span := s.tracer.Start(context.Background(), "order", trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	s.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/order", http.NoBody))
}

func (s *tracedShop) keep(r *otelgc.SlowRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled[r.Span.TraceID()] = request{r.Span.SpanID(), r.Share.Charged}
}

// check holds each exemplar to the request that it names: what it says is what that was
// charged. It returns an error while none is of the collector.
func (s *tracedShop) check(t *testing.T, found []exemplar) error {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	ofGC := 0
	for _, e := range found {
		id, err := trace.TraceIDFromHex(e.trace)
		if err != nil {
			t.Fatalf("exemplar %+v: %v", e, err)
		}
		cause, ok := causeNamed(e.cause)
		r, known := s.stalled[id]
		if !known { // it is counted before its hook is called
			return fmt.Errorf("exemplar %+v: no request has that trace", e)
		}
		if e.service != "shop" || !ok || r.span.String() != e.span || r.charged[cause].Seconds() != e.value {
			t.Fatalf("exemplar %+v, want one of the shop's requests; of that trace: %+v", e, r)
		}
		if cause.IsGC() {
			ofGC++
		}
	}
	if ofGC == 0 {
		return fmt.Errorf("none of %d exemplars is of the collector", len(found))
	}
	return nil
}

func causeNamed(name string) (stall.Cause, bool) {
	for c := range stall.NumCauses {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}
