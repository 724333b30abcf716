package dotnet

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestLossIsSaid: what the runtime dropped while nobody read is counted in the
// summary, the metric and the log, and its time is unseen.
func TestLossIsSaid(t *testing.T) {
	p, v, r := newView(t)
	from := uint64(r.o.Clock.Now())
	event := func(ticks uint64, id int, payload ...byte) nettracetest.Event {
		return nettracetest.Event{Provider: dotnetgc.Provider, ID: id, Version: 1, Ticks: from + ticks, Thread: 9, Payload: payload}
	}
	w := nettracetest.New(nettracetest.Options{SyncTicks: int64(from)})
	other := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // a stop that is not for a collection
	w.Events(event(100, 9, other...), event(200, 8, 0, 0), event(1000, 7, 0, 0), event(1100, 3, 0, 0))
	w.Lose(9, 37)
	w.Events(event(5000, 9, other...), event(5100, 8, 0, 0), event(6000, 7, 0, 0), event(6100, 3, 0, 0))
	w.End()

	var err error
	if v.reader, err = nettrace.NewReader(bytes.NewReader(w.Bytes()), nettrace.Options{Want: dotnetgc.Want}); err != nil {
		t.Fatal(err)
	}
	v.model = dotnetgc.NewModel(v.reader.Header(), dotnetgc.Options{})
	v.began = stall.Instant(from)
	v.in, v.share = &stream{}, r.budget.join(v.group)
	v.cover.attach(v.began, v.began)
	for err == nil {
		if err = v.read(); errors.Is(err, errStreamEnded) {
			v.model.Close()
			v.deliver()
		}
		b := v.known()
		p.take(t.Context(), &b, &v.seen)
		v.reset()
	}
	if !errors.Is(err, errStreamEnded) {
		t.Fatal(err)
	}
	if p.summary.Lost != 37 || p.summary.Suspensions != 2 {
		t.Errorf("summary: got %+v, want 37 events lost and 2 suspensions", p.summary)
	}
	if got := v.cover.unseen; got < 3900 || got > 3900+time.Microsecond {
		t.Errorf("%v unseen, want what lies between 1100 and 5000 ns", got)
	}
	p.tell(r.o.Clock.Now(), false)
	p.sayEnd()
	r.await("events_lost=37", 1)
	if err := p.output.close(); err != nil {
		t.Fatal(err)
	}
	dropped := int64(0)
	for _, m := range r.receiver.Metrics() { // two scopes have one of that name
		if m.GetName() != semconv.MetricDropped {
			continue
		}
		for _, p := range m.GetSum().GetDataPoints() {
			if text(p.GetAttributes(), semconv.AttrItem) == "dotnet_event" {
				dropped = p.GetAsInt()
			}
		}
	}
	if dropped != 37 {
		t.Errorf("%s: got %d, want 37", semconv.MetricDropped, dropped)
	}
	statuses := r.events(semconv.EventSourceStatus)
	if len(statuses) == 0 || otlptest.Attribute(statuses[len(statuses)-1].GetAttributes(), semconv.AttrDroppedCount).GetIntValue() != 37 {
		t.Errorf("statuses: got %v, want 37 dropped in the last", statuses)
	}
}
