package capture

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/internal/capturefile"
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// events keeps what of otelgc.request.slow says what became of its capture.
type events struct {
	mu   sync.Mutex
	slow []map[string]string
}

func (e *events) OnEmit(_ context.Context, r *sdklog.Record) error {
	if r.EventName() != semconv.EventSlowRequest {
		return nil
	}
	attrs := make(map[string]string)
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		attrs[string(kv.Key)] = kv.Value.AsString()
		return true
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.slow = append(e.slow, attrs)
	return nil
}

func (e *events) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

func (e *events) ForceFlush(context.Context) error { return nil }

func (e *events) Shutdown(context.Context) error { return nil }

// rig is a monitor that captures.
type rig struct {
	*otelgc.Monitor
	dir    string
	events events

	mu    sync.Mutex
	exact map[string]bool // routes of the slow requests that were traced from begin to end
}

// traced returns how many slow requests were traced from begin to end.
func (r *rig) traced() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.exact)
}

func start(t *testing.T, o Options, more ...otelgc.Option) *rig {
	t.Helper()
	noleak.Check(t)
	r := &rig{dir: filepath.Join(t.TempDir(), "slow"), exact: make(map[string]bool)}
	o.Dir = r.dir
	m, err := otelgc.Start(append([]otelgc.Option{
		otelgc.WithBoard(""), otelgc.WithExactBudget(1), otelgc.WithLoggerProvider(sdklog.NewLoggerProvider(sdklog.WithProcessor(&r.events))), otelgc.WithSlowRequest(o.AtLeast, nil),
		otelgc.WithRoute(func(r *http.Request) string { return r.URL.Path }),
		otelgc.WithOnSlowRequest(o.AtLeast, func(s *otelgc.SlowRequest) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if s.Share.Fidelity == stall.Exact {
				r.exact[s.Route] = true
			}
		}),
	}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	r.Monitor = m
	t.Cleanup(func() { _ = m.Shutdown(context.Background()) })
	if err := Start(m, o); err != nil {
		t.Fatal(err)
	}
	return r
}

// serve has f handle a request of a route.
func (r *rig) serve(ctx context.Context, route string, f func()) {
	h := r.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { f() }))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", route, nil))
}

// documents returns the numbers of all requests that were kept, by route.
func (r *rig) documents(t *testing.T) map[string]*capturefile.Document {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(r.dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*capturefile.Document)
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := capturefile.Read(f)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		all[d.Request.Route] = d
	}
	return all
}

// TestCapture: a slow request has three files, which only their owner may read; the event
// names the page, and the trace has the request.
func TestCapture(t *testing.T) {
	r := start(t, Options{AtLeast: 5 * time.Millisecond, Every: 1})
	ctx, span := sdktrace.NewTracerProvider().Tracer("test").Start(t.Context(), "GET")
	for i := range 100 { // the first may come before the tracer runs
		r.serve(ctx, fmt.Sprint("/<script>", i), func() { time.Sleep(10 * time.Millisecond) })
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.traced() > 0 {
			break
		}
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := r.documents(t)
	for route := range r.exact {
		d := all[route]
		if d == nil {
			t.Fatalf("%s was traced and is not kept", route)
		}
		if d.Request.TraceID != span.SpanContext().TraceID().String() || d.Request.SpanID != span.SpanContext().SpanID().String() {
			t.Errorf("trace %s, span %s, want those of %v", d.Request.TraceID, d.Request.SpanID, span.SpanContext())
		}
		i := slices.IndexFunc(r.events.slow, func(e map[string]string) bool { return e[semconv.AttrRoute] == route })
		if i < 0 {
			t.Fatalf("no event of %s", route)
		}
		path := r.events.slow[i][semconv.AttrCapturePath]
		base := strings.TrimSuffix(path, ".html")
		for _, ending := range endings {
			info, err := os.Stat(base + ending)
			if err != nil {
				t.Error(err)
			} else if info.Mode() != 0o600 {
				t.Errorf("%s: mode %v, want 0600", info.Name(), info.Mode())
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"<svg", "&lt;script&gt;", d.Trace, d.Request.TraceID} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("the page has no %q", want)
			}
		}
		if bytes.Contains(text, []byte("<script")) {
			t.Error("the page has a script")
		}
		hasRequest(t, filepath.Join(r.dir, d.Trace), d)
	}
	for _, e := range r.events.slow {
		if e[semconv.AttrCapturePath] == "" && e[semconv.AttrCaptureMissing] == "" {
			t.Errorf("event %v says nothing of its capture", e)
		}
	}
}

// hasRequest checks that a trace can be read, and that the request lies in it.
func hasRequest(t *testing.T, path string, d *capturefile.Document) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	reader, err := gotrace.NewReader(f, gotrace.Options{MarkPrefix: gotrace.WindowMarks})
	if err != nil {
		t.Fatal(err)
	}
	var got stall.Span
	for {
		g, err := reader.Next()
		if err != nil {
			break
		}
		if got.Start == 0 {
			got.Start = g.Start
		}
		got.End = g.End
	}
	if got.Start > d.Request.Handler.Start || got.End < d.Request.Handler.End {
		t.Errorf("trace of %v, want one with %v in it", got, d.Request.Handler)
	}
}

// TestInjected: requests that are made slow on purpose while the monitor traces have their
// files, and these name what was done: of 200 at least 198.
func TestInjected(t *testing.T) {
	const least = 20 * time.Millisecond
	r := start(t, Options{AtLeast: least, Every: 1, Keep: 1000, Bytes: 1 << 40})
	live, one := make([]*int, 8<<20), new(int) // marking takes a while, and sweeping none
	for i := range live {
		live[i] = one
	}
	over := make(chan struct{})
	defer close(over)
	for range 3000 { // whose stacks take a while to be written
		go func() { <-over }()
	}
	injections := map[string]func(){
		"runtime.suspension": func() {
			stacks := make([]byte, 256<<10)
			var written atomic.Bool
			go func() {
				// By how long it stopped: it may wait for a CPU first.
				for stopped := time.Duration(0); stopped < least+5*time.Millisecond; {
					begin := time.Now()
					runtime.Stack(stacks, true)
					stopped += time.Since(begin)
				}
				written.Store(true)
			}()
			for !written.Load() { // a stop delays it: it does not wait
			}
		},
		"app": func() { time.Sleep(least + 5*time.Millisecond) },
		"gc.wait": func() {
			for end := time.Now().Add(least + 5*time.Millisecond); time.Now().Before(end); {
				runtime.GC()
			}
		},
	}
	const want = 200
	n := 0
	for ; r.traced() < want && n < 10*want; n++ {
		for of, f := range injections {
			r.serve(t.Context(), fmt.Sprintf("/%s/%d", of, n), f)
		}
		if n%10 == 9 { // some are known to have been traced
			if err := r.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.KeepAlive(live)
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.exact) < want {
		t.Fatalf("of %d requests %d were traced, want %d", n*len(injections), len(r.exact), want)
	}
	all := r.documents(t)
	if !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(d *capturefile.Document) bool { return d.Median != nil && d.P99 > 0 }) {
		t.Error("no request has p99 and a median one beside it")
	}
	missing, wrong := 0, 0
	for route := range r.exact {
		d := all[route]
		if d == nil {
			missing++
			continue
		}
		of := strings.Split(route, "/")[1]
		times := slices.DeleteFunc(d.Strip().Times(), func(x strip.Time) bool {
			return of != "app" && (x.Part == stall.App || x.Part == stall.AppOrHost) // between the stops it runs
		})
		if len(times) == 0 || times[0].Part.String() != of {
			wrong++
			t.Logf("%s: %s", route, d.Request.Sentence)
		}
	}
	if got := len(r.exact) - missing - wrong; got*200 < len(r.exact)*198 {
		t.Errorf("of %d slow requests that were traced %d have no files, and of %d those do not name what was done", len(r.exact), missing, wrong)
	}
}

// TestFlood: of very many slow requests as few are kept as may be. The others are counted,
// their events say why, and the service goes on.
func TestFlood(t *testing.T) {
	r := start(t, Options{AtLeast: 1, Every: time.Hour})
	for range 100 { // the first may come before the tracer runs
		for range 10_000 {
			r.serve(t.Context(), "/", func() {})
		}
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.traced() > 0 {
			break
		}
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(r.documents(t)); n != 1 {
		t.Errorf("%d requests kept, want 1", n)
	}
	if n := entry.PageOf(r.Monitor).Losses()[[2]string{"capture", whyRate}]; n == 0 {
		t.Error("those over the rate are not counted")
	}
	if !slices.ContainsFunc(r.events.slow, func(e map[string]string) bool { return e[semconv.AttrCaptureMissing] == whyRate }) {
		t.Error("no event says that its request was over the rate")
	}
}

// slow returns a request of a length.
func slow(d time.Duration) *entry.Slow {
	w := stall.Window{Start: 1e9, End: stall.Instant(1e9).Add(d)}
	s := stall.Share{Total: d, App: d}
	return &entry.Slow{
		Request: entry.Request{Window: &w, Share: &s, Pieces: []stall.Piece{{Start: w.Start, End: w.End, Part: stall.App}}, Captured: new(entry.Captured)},
		Trace:   [][]byte{bytes.Repeat([]byte("x"), 10_000)}, Traced: stall.Span{Start: w.Start, End: w.End},
	}
}

// capturerOf returns a capturer whose requests come from the test, in a directory.
func capturerOf(t *testing.T, dir string, o Options, writes bool) *capturer {
	t.Helper()
	noleak.Check(t)
	m, err := otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Shutdown(context.Background()) })
	o.Dir = dir
	c, err := newCapturer(m, o)
	if err != nil {
		t.Fatal(err)
	}
	if writes {
		go c.run()
		t.Cleanup(func() { c.Close(context.Background()) })
	}
	return c
}

// offer offers n requests, waits for what becomes of them, and returns that.
func (c *capturer) offer(n int) map[string]int {
	got := make(map[string]int)
	for range n {
		why := c.Admit(10_000)
		if why == "" {
			done := make(chan string, 1)
			c.Keep(slow(time.Second), func(_, why string) { done <- why })
			why = <-done
		}
		got[why]++
	}
	return got
}

// TestLimits: the oldest go when there are too many, or they are too large; what an
// earlier run has left counts; what comes too fast, or is too large, is not kept.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		o    Options
		n    int
		want map[string]int
		left int
	}{
		{"number", Options{Every: 1, Keep: 3}, 5, map[string]int{"": 5}, 3},
		{"the same, again", Options{Every: 1, Keep: 2}, 1, map[string]int{"": 1}, 2},
		{"bytes", Options{Every: 1, Bytes: roomForPage + 10_000}, 200, map[string]int{"": 200}, 0},
		{"too large", Options{Every: 1, Bytes: 10_000}, 3, map[string]int{whyLarge: 3}, 0},
		{"rate", Options{Every: time.Hour}, 1000, map[string]int{"": 1, whyRate: 999}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := capturerOf(t, dir, c.o, true)
			got := x.offer(c.n)
			x.Close(t.Context())
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var bytes int64
			for _, e := range entries {
				info, err := e.Info()
				if err != nil {
					t.Fatal(err)
				}
				bytes += info.Size()
			}
			if c.left > 0 && len(entries) != c.left*len(endings) {
				t.Errorf("%d files, want those of %d requests", len(entries), c.left)
			}
			if limit := x.o.Bytes; bytes > limit {
				t.Errorf("%d bytes, want at most %d", bytes, limit)
			}
		})
	}
}

// TestHangingDisk: while a file is not written, as many requests wait as there is room for,
// the others are counted, and the end does not wait for it.
func TestHangingDisk(t *testing.T) {
	c := capturerOf(t, t.TempDir(), Options{Every: 1}, false) // its writer has not come back
	got := make(map[string]int)
	for range 10_000 {
		if why := c.Admit(10_000); why != "" {
			got[why]++
			continue
		}
		c.Keep(slow(time.Second), func(path, why string) { got[path+why]++ })
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Close(ctx)
	for j := range c.queue { // it comes back after all
		c.finish(j, "late", "")
	}
	if want := (map[string]int{whyQueue: 10_000 - maxWaiting, entry.WhyShutdown: maxWaiting}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	c.dir.close()
}

// TestRefused: what cannot be is said at the start.
func TestRefused(t *testing.T) {
	noleak.Check(t)
	if err := Start(nil, Options{}); err != nil {
		t.Errorf("nil monitor: %v", err)
	}
	m, err := otelgc.Start(otelgc.WithBoard(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Shutdown(context.Background()) })
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Dir: file}, {Dir: t.TempDir(), Every: -1}} {
		if err := Start(m, o); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, want one line", o, err)
		}
	}
	dir := t.TempDir()
	if err := Start(m, Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if err := Start(m, Options{Dir: dir}); err == nil {
		t.Error("a second capture of one monitor: no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the directory has %v, %v, want nothing", left, err)
	}
}

// TestDocumentOfNothing: what was not seen is said, and the document is read again.
func TestDocumentOfNothing(t *testing.T) {
	c := capturerOf(t, t.TempDir(), Options{}, true)
	s := slow(time.Second)
	s.Pieces = nil
	d := c.document(&job{Slow: s})
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte(capturefile.Magic)) {
		t.Errorf("%.40s, want %s", text, capturefile.Magic)
	}
	if _, err := capturefile.Read(bytes.NewReader(text)); err != nil {
		t.Error(err)
	}
	if !bytes.Contains(page(d), []byte("to be drawn")) {
		t.Error("the page does not say that there are no pieces")
	}
}
