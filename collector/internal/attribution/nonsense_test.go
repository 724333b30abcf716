package attribution

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestNonsense: events that cannot be are counted by why, and charge nobody.
func TestNonsense(t *testing.T) {
	s := newSender()
	set := func(ld plog.Logs, f func(pcommon.Map)) plog.Logs {
		f(ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes())
		return ld
	}
	for name, x := range map[string]struct {
		ld   plog.Logs
		want string
	}{
		"no boot":      {set(s.status(stall.GCWatch, sec), func(m pcommon.Map) { m.Remove(semconv.AttrBootID) }), "no_identity"},
		"long boot":    {set(s.status(stall.GCWatch, sec), func(m pcommon.Map) { m.PutStr(semconv.AttrBootID, string(make([]byte, 300))) }), "no_identity"},
		"no source":    {set(s.status(stall.GCWatch, sec), func(m pcommon.Map) { m.PutStr(semconv.AttrSource, "me") }), "no_identity"},
		"time is text": {set(s.status(stall.GCWatch, sec), func(m pcommon.Map) { m.PutStr(semconv.AttrEnd, "now") }), "time"},
		"future":       {set(s.status(stall.GCWatch, sec), func(m pcommon.Map) { m.PutInt(semconv.AttrWatermark, 1<<62) }), "time"},
		"backwards":    {s.collection(stall.GCWatch, 1, 2*sec, sec, 0), "time"},
		"two hours":    {s.collection(stall.GCWatch, 1, sec, 7201*sec, 0), "time"},
		"slack":        {s.collection(stall.GCWatch, 1, sec, 2*sec, -1), "time"},
		"cause":        {set(s.gap(stall.ProbeSpin, stall.HostIRQ, stall.ScopeCPU, sec, 2*sec), func(m pcommon.Map) { m.PutStr(semconv.AttrCause, "ghosts") }), "cause"},
		"many attributes": {set(s.status(stall.GCWatch, sec), func(m pcommon.Map) {
			for i := range wire.MaxAttributes {
				m.PutEmpty(strconv.Itoa(i))
			}
		}), "time"},
		"many pauses": {set(s.collection(stall.GCWatch, 1, sec, 2*sec, 0), func(m pcommon.Map) {
			for _, k := range []string{semconv.AttrPauseStart, semconv.AttrPauseEnd} {
				l := m.PutEmptySlice(k)
				for range 1000 {
					l.AppendEmpty().SetInt(sec)
				}
			}
		}), "time"},
	} {
		a := New(Config{})
		a.Learn(x.ld)
		if diff := cmp.Diff(map[string]uint64{x.want: 1}, a.Lost().Events); diff != "" {
			t.Errorf("%s: lost (-want +got):\n%s", name, diff)
		}
	}
}
