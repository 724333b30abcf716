package attribution

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// lie makes what one process of the host says: anything, but for the stamp, which its
// agent takes from it, another boot id, which its agent overrides, and the instance id
// of another, which it cannot know.
func (r *tale) lie(now int64) plog.Logs {
	s := r.s
	s.boot, s.off = boot, offset+[]int64{0, 0, sec, -3 * sec, 3600 * sec, -offset}[r.next(6)]
	s.pid, s.with = []int64{99, 42, 50, 7, 1}[r.next(5)], m{semconv.AttrBootID: boot}
	for _, x := range []struct {
		key    string
		values []string
	}{
		{wire.AttrServiceName, []string{"", "shop", "x"}}, {wire.AttrContainerID, []string{"", "abc", "def"}}, {wire.AttrInstanceID, []string{"", "x"}},
		{semconv.AttrHostName, []string{"", "node", "x"}}, {semconv.AttrHostID, []string{"", "a", "b"}}, {wire.AttrPodUID, []string{"", "u"}},
		{semconv.AttrProcessCreation, []string{"", "2026-11-21T10:00:00.25Z", "soon"}},
	} {
		if v := x.values[r.next(len(x.values))]; v != "" {
			s.with[x.key] = v
		}
	}
	source := stall.Origin(1 + r.next(int(stall.NumOrigins)-1))
	at := max(1, now+[]int64{0, 500 * ms, -sec, 2 * sec, 12 * sec, -12 * sec, 7200 * sec, -now}[r.next(8)])
	var ld plog.Logs
	switch r.next(5) {
	case 0, 1:
		ld = r.status(source, at)
	case 2:
		ld = s.gap(source, stall.HostThrottled+stall.Cause(r.next(8)), stall.Scope(r.next(int(stall.NumScopes))), at, at+r.next(20)*ms)
		attributes(ld).PutInt(semconv.AttrTargetPID, []int64{0, 42, 50, 7}[r.next(4)])
		attributes(ld).PutInt(semconv.AttrTargetCreated, r.next(3))
	case 3:
		ld = s.traced(at+r.next(20)*ms, at+(20+r.next(20))*ms, []string{"GET /", "x"}[r.next(2)], map[string]float64{"gc.pause": float64(r.next(20)) / 1000})
	default:
		ld = s.collection(source, r.next(200), at, at+r.next(20)*ms, r.next(3)*ms)
	}
	if r.next(2) == 0 {
		attributes(ld).PutStr(semconv.AttrStamp, semconv.StampSidecar)
	}
	if r.next(2) == 0 {
		attributes(ld).PutStr(semconv.AttrBootID, "another")
	}
	return ld
}

// hostileSpan makes a span of the liar's.
func (r *tale) hostileSpan(now int64) ptrace.Traces {
	td := r.s.span(now-r.next(5)*sec, now+r.next(5)*sec-2*sec)
	if r.next(4) == 0 {
		td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetStartTimestamp(pcommon.Timestamp(r.next(256) << 56))
	}
	return td
}

// mostOfHeap is how much of the heap an Attributor takes of what it may count, in the
// worst case: what is counted is rather more than less, but for the joiners' memory.
const mostOfHeap = 2

// FuzzLiar: whatever one process of a host tells in whatever order, the spans of the
// others leave with what they leave with without it; none is lost, nothing is kept that
// is not counted, and what is counted is bounded.
func FuzzLiar(f *testing.F) {
	for i := range byte(32) {
		b := make([]byte, 400)
		for k := range b {
			b[k] = byte(k*k) * (i + 1) / 3
		}
		f.Add(b)
	}
	const limit = 1 << 20
	alone := tellTruth(f, limit, nil, nil)
	f.Fuzz(func(t *testing.T, b []byte) {
		before := heap()
		h := newTruth(Config{Probes: ProbesStamped, MaxBytes: limit, MaxHosts: 4})
		r, own := &tale{b, newSender()}, new(catcher)
		spans := 0
		got := tellTruth(t, limit, h, func() {
			for range 8 {
				if len(r.rest) == 0 {
					return
				}
				now := h.second * sec
				h.a.Learn(r.lie(now))
				if r.next(3) == 0 {
					h.a.Hold(r.hostileSpan(now), own.sink(), start.Add(time.Duration(now-100*sec)))
					spans++
				}
				checkKnown(t, h.a, limit)
			}
		})
		if diff := cmp.Diff(alone, got); diff != "" {
			t.Errorf("spans of the others (-without the liar +with it):\n%s", diff)
		}
		if len(own.spans) != spans {
			t.Errorf("%d of the liar's %d spans came out", len(own.spans), spans)
		}
		held, known := h.a.Known(), 0
		if _, known = h.a.Held(); known != 0 {
			t.Errorf("%d bytes are held after all", known)
		}
		own.spans, r = nil, nil
		if took := heap() - before; held > limit || took > mostOfHeap*limit {
			t.Errorf("%d bytes on the heap, %d counted, of %d", took, held, limit)
		}
		runtime.KeepAlive(h)
	})
}

// tellTruth tells of some seconds of a host, and returns what becomes of a span of each
// of its processes in each of them. Between what it tells there are lies.
func tellTruth(t testing.TB, limit int, h *truth, lie func()) (all []charges) {
	if h == nil {
		h = newTruth(Config{Probes: ProbesStamped, MaxBytes: limit, MaxHosts: 4})
		lie = func() {}
	}
	lie()
	for range 6 {
		one, other := new(catcher), new(catcher)
		at, now := h.second*sec, start.Add(time.Duration(h.second*sec-100*sec))
		h.a.Hold(h.goes.span(at+10*ms, at+20*ms), one.sink(), now)
		h.a.Hold(h.netSpans.span(at+10*ms, at+20*ms), other.sink(), now)
		lie()
		h.a.Tick(now.Add(time.Second))
		lie()
		h.tell()
		h.a.Tick(now.Add(1500 * time.Millisecond))
		lie()
		if len(one.spans) != 1 || len(other.spans) != 1 {
			t.Fatalf("second %d: %d and %d spans came out, want one each when all have told", at/sec, len(one.spans), len(other.spans))
		}
		all = append(all, charges{floats(one.spans[0].Attributes()), floats(other.spans[0].Attributes())})
	}
	h.a.Flush()
	if fmt.Sprint(all[0].Go["otelgc.stall.coverage"]) != "1" {
		t.Fatalf("a truth of nothing: %v", all[0])
	}
	return all
}
