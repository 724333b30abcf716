package telemetry

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// hanging is a processor of the program's that waits, once it is told to, until it
// may go on or its context ends. It holds its lock meanwhile, so that it hangs when
// it is asked, too.
type hanging struct {
	recorder
	in, goOn chan struct{}
	asks     bool
}

func newHanging() *hanging {
	return &hanging{in: make(chan struct{}, 1), goOn: make(chan struct{})}
}

func (p *hanging) wait(ctx context.Context) {
	select {
	case p.in <- struct{}{}:
	default:
	}
	select {
	case <-p.goOn:
	case <-ctx.Done():
	}
}

func (p *hanging) Enabled(ctx context.Context, _ sdklog.EnabledParameters) bool {
	if p.asks {
		p.wait(ctx)
	}
	return true
}

func (p *hanging) OnEmit(ctx context.Context, r *sdklog.Record) error {
	p.wait(ctx)
	return p.recorder.OnEmit(ctx, r)
}

func detached(t *testing.T, p sdklog.Processor, limit int) (*Telemetry, *rig) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	tel, err := New(Options{
		Meter:    sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("otelgc"),
		Logger:   sdklog.NewLoggerProvider(sdklog.WithProcessor(p)).Logger("otelgc"),
		Detached: true, MaxEventsPerSecond: limit,
	})
	if err != nil {
		t.Fatal(err)
	}
	tel.events.since = 0
	return tel, &rig{Telemetry: tel, reader: reader}
}

func stopAt(at stall.Instant) stall.Interval {
	return stall.Interval{Start: at, End: at + 1000, Origin: stall.GoTrace}
}

// TestHangingProcessor: who tells of stops waits for no processor, be it asked or
// given a record. What there is no room for is counted, is a loss of its source and
// unseen in its status; what there is room for goes out in order, events before the
// status that answers for them.
func TestHangingProcessor(t *testing.T) {
	const limit = 1
	const room = queuedSeconds*limit + queuedStatuses
	for name, asks := range map[string]bool{"given": false, "asked": true} {
		t.Run(name, func(t *testing.T) {
			p := newHanging()
			p.asks = asks
			tel, r := detached(t, p, limit)
			now := stall.Instant(time.Second)
			second := func() {
				tel.Suspension(stopAt(now), "r", "", stall.Exact)
				now = now.Add(time.Second)
				tel.Tick(now)
				tel.Status(semconv.Status{Origin: stall.GoTrace, Since: now.Add(-time.Second), At: now, Watermark: now})
			}
			second()
			<-p.in
			for range room {
				second()
			}
			close(p.goOn)
			tel.Finish(context.Background())
			var got, want []string
			for _, r := range p.taken() {
				got = append(got, r.EventName())
			}
			for range len(got) / 2 {
				want = append(want, semconv.EventSuspension, semconv.EventSourceStatus)
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) < room/2 {
				t.Errorf("%d events (-want +got):\n%s", len(got), diff)
			}
			lost := 2*(1+room) - len(got)
			dropped := []string{"[error.type=queue_full otelgc.item=event] = " + strconv.Itoa(lost)}
			if diff := cmp.Diff(dropped, series1(t, r, semconv.MetricDropped)); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			if got := tel.Loss(stall.GoTrace).Count; got == 0 || got > uint64(lost) {
				t.Errorf("%d events were lost by their source, want some of %d", got, lost)
			}
			last := stopAt(now.Add(-time.Second)).Span()
			if unseen := tel.events.unsentOf(stall.GoTrace, now.Add(-time.Second), now); len(unseen) == 0 || unseen[len(unseen)-1] != last {
				t.Errorf("unseen: %v, want the stop %v", unseen, last)
			}
			if err := tel.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLostStatusIsMadeGood: a stop that only statuses named for which there was no room
// is unseen in the first that there is room for, however late that is.
func TestLostStatusIsMadeGood(t *testing.T) {
	const second = stall.Instant(1e9)
	p := newHanging()
	tel, _ := detached(t, p, 1)
	status := func(at stall.Instant) {
		tel.Status(semconv.Status{Origin: stall.GoTrace, Since: at - second, At: at, Watermark: at})
	}
	status(second)
	<-p.in
	for range queuedSeconds + queuedStatuses { // there is no room from now on
		status(second)
	}
	stop := stopAt(second / 2).Span() // told late
	tel.Untold(stall.GoTrace, stop)
	at := 2 * second
	for range 10 {
		status(at)
		at += second
	}
	close(p.goOn)
	quiet(tel.logs.out)
	p.taken()
	status(at)
	tel.Finish(context.Background())
	told := p.taken()
	if len(told) != 1 {
		t.Fatalf("%d statuses, want one", len(told))
	}
	if got, _ := attr(told[0], semconv.AttrUnseenStart); !slices.Equal(got.AsInt64Slice(), []int64{int64(stop.Start)}) {
		t.Errorf("unseen from %v, want the stop %v", got.AsInt64Slice(), stop)
	}
	if err := tel.Close(); err != nil {
		t.Error(err)
	}
}

// TestFinishHasAnEnd: a processor that hangs is waited for no longer than the context
// says. Its own context ends then, what it was not given is counted.
func TestFinishHasAnEnd(t *testing.T) {
	p := newHanging()
	tel, r := detached(t, p, 10)
	for at := range stall.Instant(3) {
		tel.Suspension(stopAt(at+1), "r", "", stall.Exact)
	}
	tel.Tick(stall.Instant(time.Second))
	<-p.in
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tel.Finish(ctx)
	want := []string{"[error.type=shutdown otelgc.item=event] = 2"}
	if diff := cmp.Diff(want, series1(t, r, semconv.MetricDropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if n := len(p.taken()); n != 1 {
		t.Errorf("%d events were given, want the one that hung", n)
	}
	if err := tel.Close(); err != nil {
		t.Error(err)
	}
}

// TestDisabledLoggerIsAskedAgain: an answer is known from the next second on, and in
// between nobody is given what he does not want.
func TestDisabledLoggerIsAskedAgain(t *testing.T) {
	p := &choosy{}
	tel, _ := detached(t, p, 10)
	for n, want := range []int{0, 0, 1} {
		at := stall.Instant(n) * stall.Instant(time.Second)
		p.yes = n == 2
		tel.logs.ask()
		quiet(tel.logs.out)
		tel.Suspension(stopAt(at+1), "r", "", stall.Exact)
		tel.Tick(at.Add(time.Second))
		quiet(tel.logs.out)
		if got := len(p.taken()); got != want {
			t.Errorf("second %d: %d events, want %d", n, got, want)
		}
		told := len(tel.events.unsentOf(stall.GoTrace, at, at.Add(time.Second))) == 0
		if told != (want == 1) {
			t.Errorf("second %d: what nobody takes is seen", n)
		}
		tel.events.unsent = unsent{}
	}
	if err := tel.Close(); err != nil {
		t.Error(err)
	}
}

type choosy struct {
	recorder
	yes bool
}

func (p *choosy) Enabled(context.Context, sdklog.EnabledParameters) bool { return p.yes }

// quiet waits until all that was put in is called.
func quiet(o *Outbox) {
	o.mu.Lock()
	busy := o.busy
	o.mu.Unlock()
	if busy != nil {
		<-busy
	}
}
