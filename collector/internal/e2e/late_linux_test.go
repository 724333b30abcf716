package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// machine is one that the test makes up: a process on it, and how its wall clock
// stands to its CLOCK_MONOTONIC.
type machine struct {
	boot   string
	offset int64
}

// event makes one of the machine's, about wall time.
func (m *machine) event(name string, w wallSpan, more func(pcommon.Map)) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	for k, v := range m.identity() {
		rl.Resource().Attributes().PutStr(k, v)
	}
	rl.Resource().Attributes().PutStr("service.name", "e2e-late")
	r := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetEventName(name)
	r.SetTimestamp(pcommon.Timestamp(w.start))
	a := r.Attributes()
	a.PutStr("otelgc.source", "gcwatch")
	a.PutStr("otelgc.boot.id", m.boot)
	a.PutInt("process.pid", 7)
	a.PutInt("otelgc.start", w.start-m.offset)
	a.PutInt("otelgc.end", w.end-m.offset)
	more(a)
	return ld
}

func (m *machine) identity() map[string]string {
	return map[string]string{"otelgc.boot.id": m.boot, "k8s.pod.uid": "pod-of-late", "k8s.container.name": "main"}
}

// status says that w was seen, up to its end.
func (m *machine) status(w wallSpan) plog.Logs {
	return m.event("otelgc.source.status", w, func(a pcommon.Map) {
		a.PutInt("otelgc.watermark", w.end-m.offset)
		a.PutInt("otelgc.wall.offset", m.offset)
		a.PutInt("otelgc.wall.error", 1000)
	})
}

func (m *machine) collection(index int, pause wallSpan) plog.Logs {
	return m.event("otelgc.gc.collection", pause, func(a pcommon.Map) {
		a.PutInt("otelgc.gc.index", int64(index))
		a.PutEmptySlice("otelgc.pause.start").AppendEmpty().SetInt(pause.start - m.offset)
		a.PutEmptySlice("otelgc.pause.end").AppendEmpty().SetInt(pause.end - m.offset)
	})
}

// TestLateEvents: events that come 8 s after what they tell of, twice, and in no
// order, charge through both tiers as if they had come in time, and once.
func TestLateEvents(t *testing.T) {
	t.Parallel()
	const requests = 30
	n := newTiers(t, long) // late is the events, not this machine
	m := &machine{"11111111-0000-4000-8000-000000000000", 1_700_000_000_000_000_000}
	began := time.Now().UnixNano()
	second := func(i int) wallSpan { return wallSpan{began + int64(i-1)*1e9, began + int64(i)*1e9} }
	n.tell(t, m.status(second(0)))

	var spans []wallSpan
	late := []plog.Logs{}
	for i := range requests {
		at := began + int64(i)*50e6
		spans = append(spans, wallSpan{at, at + 40e6})
		late = append(late, m.collection(i+1, wallSpan{at + 10e6, at + 17e6}))
	}
	for i := range 9 {
		late = append(late, m.status(second(i+1)))
	}
	n.sendOf(t, "e2e-late", m.identity(), spans)
	// Not a wait for something: the lateness itself.
	time.Sleep(time.Until(time.Unix(0, second(9).end)))
	if got := len(n.of("e2e-late")); got != 0 {
		t.Errorf("%d spans went on before anything was told of their time", got)
	}
	late = append(late, late...)
	rand.Shuffle(len(late), func(i, k int) { late[i], late[k] = late[k], late[i] })
	for _, ld := range late {
		n.tell(t, ld)
	}
	eventually(t, "all spans", func() error {
		if got := len(n.of("e2e-late")); got < requests {
			return fmt.Errorf("%d of %d", got, requests)
		}
		return nil
	}, n.running[:]...)
	for id, d := range n.of("e2e-late") {
		pause, unseen := d.shares["otelgc.stall.gc.pause"], d.shares["otelgc.stall.unseen"]
		if math.Abs(pause-7e-3) > within || d.times != 1 || d.shares["otelgc.stall.coverage"] != 1 {
			t.Errorf("span %s came %d times: paused %v, unseen %v, coverage %v; want once, 0.007, and 1",
				id, d.times, pause, unseen, d.shares["otelgc.stall.coverage"])
		}
	}
	n.stop(t)
}
