package gcgrpc

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// healthy is a service with a unary and a streaming method.
type healthy struct {
	grpc_health_v1.UnimplementedHealthServer
	work func(context.Context) error
}

func (h *healthy) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, h.work(ctx)
}

func (h *healthy) Watch(_ *grpc_health_v1.HealthCheckRequest, s grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	for range 3 {
		if err := s.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
			return err
		}
	}
	return h.work(s.Context())
}

// told collects the windows.
type told struct {
	mu  sync.Mutex
	all []stall.Share
}

func (t *told) add(_ *stall.Window, s *stall.Share) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, *s)
}

func start(t *testing.T, opts ...otelgc.Option) *otelgc.Monitor {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	m, err := otelgc.Start(append([]otelgc.Option{otelgc.WithBoard("")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func flush(t *testing.T, m *otelgc.Monitor) {
	t.Helper()
	if err := m.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// dial serves h over a pipe, and returns a connection to it.
func dial(t *testing.T, work func(context.Context) error, server []grpc.ServerOption, client ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer(server...)
	grpc_health_v1.RegisterHealthServer(s, &healthy{work: work})
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	conn, err := grpc.NewClient("passthrough:pipe", append(client,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		s.Stop()
		wg.Wait()
	})
	return conn
}

func watch(t *testing.T, conn *grpc.ClientConn) (n int, err error) {
	t.Helper()
	s, err := grpc_health_v1.NewHealthClient(conn).Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := s.Recv(); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n++
	}
}

// TestServer: unary and streaming calls are a window each, also those that fail;
// a call that no method answers is none.
func TestServer(t *testing.T) {
	var got told
	m := start(t, otelgc.WithExactBudget(0), otelgc.WithOnWindow(got.add))
	fail := false
	conn := dial(t, func(context.Context) error {
		if fail {
			return status.Error(codes.Internal, "no")
		}
		return nil
	}, []grpc.ServerOption{grpc.StatsHandler(NewServerHandler(m))})
	health := grpc_health_v1.NewHealthClient(conn)
	for _, fail = range []bool{false, true} {
		if _, err := health.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); (err != nil) != fail {
			t.Errorf("fail %v: got %v", fail, err)
		}
		if n, err := watch(t, conn); (err != nil) != fail || n != 3 {
			t.Errorf("fail %v: got %d messages, %v", fail, n, err)
		}
	}
	if err := conn.Invoke(context.Background(), "/no.Service/Method", &grpc_health_v1.HealthCheckRequest{}, &grpc_health_v1.HealthCheckResponse{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("unknown method: got %v", err)
	}
	conn.Close()
	waitWindows(t, m, &got, 4)
}

// waitWindows waits until n windows have ended; a server ends its own after the
// client has the answer.
func waitWindows(t *testing.T, m *otelgc.Monitor, got *told, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		flush(t, m)
		got.mu.Lock()
		have := len(got.all)
		got.mu.Unlock()
		if have > n || time.Now().After(deadline) {
			t.Fatalf("%d windows, want %d", have, n)
		}
		if have == n {
			return
		}
	}
}

// TestClient: each call is a window, also one that its context ends.
func TestClient(t *testing.T) {
	var got told
	m := start(t, otelgc.WithExactBudget(0), otelgc.WithOnWindow(got.add))
	conn := dial(t, func(context.Context) error { return nil }, nil, grpc.WithStatsHandler(NewClientHandler(m)))
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := watch(t, conn); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := grpc_health_v1.NewHealthClient(conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = s.Recv()
	}
	waitWindows(t, m, &got, 3)
}

// onGoroutine is a stats handler that notes where it is called.
type onGoroutine struct {
	handler
	mu   sync.Mutex
	seen map[string][]string // by kind of event
}

func (g *onGoroutine) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (g *onGoroutine) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s.(type) {
	case *stats.Begin:
		g.note("begin")
	case *stats.End:
		g.note("end")
	}
}

func (g *onGoroutine) note(kind string) {
	buf := make([]byte, 64)
	id := strings.Fields(string(buf[:runtime.Stack(buf, false)]))[1]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen == nil {
		g.seen = make(map[string][]string)
	}
	g.seen[kind] = append(g.seen[kind], id)
}

// TestServerGoroutine holds gRPC to what the package builds on: Begin, the
// method and End are on one goroutine.
func TestServerGoroutine(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	for name, opts := range map[string][]grpc.ServerOption{
		"goroutine per call": nil,
		"workers":            {grpc.NumStreamWorkers(2)},
	} {
		t.Run(name, func(t *testing.T) {
			var g onGoroutine
			ended := make(chan struct{}, 2)
			conn := dial(t, func(context.Context) error { g.note("method"); return nil },
				append(opts, grpc.StatsHandler(&g), grpc.StatsHandler(endTeller(ended))))
			if _, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
				t.Fatal(err)
			}
			<-ended
			if _, err := watch(t, conn); err != nil {
				t.Fatal(err)
			}
			<-ended
			g.mu.Lock()
			defer g.mu.Unlock()
			if len(g.seen["method"]) != 2 || !slices.Equal(g.seen["begin"], g.seen["method"]) || !slices.Equal(g.seen["end"], g.seen["method"]) {
				t.Errorf("goroutines: %v, want the same throughout a call", g.seen)
			}
		})
	}
}

// endTeller tells of each end of a call, after the handlers before it.
type endTeller chan struct{}

func (endTeller) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (endTeller) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (endTeller) HandleConn(context.Context, stats.ConnStats)                       {}
func (e endTeller) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.End); ok {
		e <- struct{}{}
	}
}

// spanTagger stands for otelgrpc: it puts a span into the context of a call.
type spanTagger struct{ handler }

func (*spanTagger) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}, TraceFlags: trace.FlagsSampled,
	}))
}

// TestBesideAnother: in either order the window knows the span that another
// handler made, and its route.
func TestBesideAnother(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(map[bool]string{true: "ours first", false: "ours last"}[first], func(t *testing.T) { testBeside(t, first) })
	}
}

func testBeside(t *testing.T, first bool) {
	reader := sdkmetric.NewManualReader()
	m := start(t, otelgc.WithExactBudget(0),
		otelgc.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	other, ours := grpc.StatsHandler(&spanTagger{}), grpc.StatsHandler(NewServerHandler(m, WithRoutes()))
	opts := []grpc.ServerOption{other, ours}
	if first {
		slices.Reverse(opts)
	}
	conn := dial(t, func(context.Context) error { collect(); return nil }, opts)
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	var routes []string
	var traces []byte
	for deadline := time.Now().Add(time.Minute); len(routes) == 0 && time.Now().Before(deadline); {
		flush(t, m)
		routes, traces = requestsOf(t, reader)
	}
	if want := []string{grpc_health_v1.Health_Check_FullMethodName}; !slices.Equal(routes, want) {
		t.Errorf("routes %v, want %v", routes, want)
	}
	if len(traces) == 0 || traces[0] != 7 {
		t.Errorf("exemplar's trace %v, want that of the span", traces)
	}
}

// collect has pauses enough that some are long enough for a sample, and lie in
// the window for sure.
func collect() {
	for range 50 {
		runtime.GC()
	}
}

// requestsOf returns the routes that were counted, and the trace of one exemplar.
func requestsOf(t *testing.T, reader *sdkmetric.ManualReader) (routes []string, trace []byte) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					if v, ok := p.Attributes.Value(attribute.Key(stall.AttrRoute)); ok && m.Name == stall.MetricRequests {
						routes = append(routes, v.AsString())
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					if m.Name == stall.MetricRequestStall && len(p.Exemplars) > 0 {
						trace = p.Exemplars[0].TraceID
					}
				}
			}
		}
	}
	return routes, trace
}

// TestJoin: a goroutine that a method starts joins the window of its call.
func TestJoin(t *testing.T) {
	var got told
	m := start(t, otelgc.WithExactBudget(1), otelgc.WithOnWindow(got.add))
	followed := false
	conn := dial(t, func(ctx context.Context) error {
		own := Context(ctx)
		if own == ctx {
			return nil // nothing is traced yet
		}
		followed = true
		opened, done := time.Now(), make(chan struct{})
		go func() {
			defer close(done)
			defer otelgc.Join(own)()
			// Longer than it took to get a CPU, however long that was.
			begin := time.Now()
			for least := 50*time.Millisecond + 3*begin.Sub(opened); time.Since(begin) < least; {
			}
		}()
		<-done
		return nil
	}, []grpc.ServerOption{grpc.StatsHandler(NewServerHandler(m))})
	n := 0
	for deadline := time.Now().Add(time.Minute); !followed; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no slice began in a minute")
		}
		if _, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		n++
	}
	conn.Close()
	waitWindows(t, m, &got, n)
	got.mu.Lock()
	defer got.mu.Unlock()
	s := slices.MaxFunc(got.all, func(a, b stall.Share) int { return cmp.Compare(a.Total, b.Total) })
	if s.Unseen > s.Total/2 {
		t.Skipf("the slice ended: %s", s.Explain())
	}
	if s.App > s.Total/2 {
		t.Errorf("the call waits for itself: %s", s.Explain())
	}
}

// TestContext: without a call there is nothing to join.
func TestContext(t *testing.T) {
	ctx := NewServerHandler(nil).TagRPC(context.Background(), &stats.RPCTagInfo{})
	if got := Context(ctx); got != ctx {
		t.Errorf("got %v, want what was given", got)
	}
}

// TestNilMonitor: handlers of nobody do nothing.
func TestNilMonitor(t *testing.T) {
	for _, h := range []stats.Handler{NewServerHandler(nil), NewClientHandler(nil)} {
		ctx := h.TagRPC(context.Background(), &stats.RPCTagInfo{})
		h.HandleRPC(ctx, &stats.Begin{})
		h.HandleRPC(ctx, &stats.End{})
	}
}
