package attribution

import (
	"cmp"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
)

// writer writes down what becomes of the spans of one resource.
type writer struct {
	a      *Attributor
	j      *joiner
	h      *held
	events plog.Logs
	inside bool   // otelgc is in the process
	boot   string // of the host, where the resource does not say it
	pid    int32  // of the process: by the resource, else as it was found; 0 if neither
}

// counts reports whether the connector is to count a span that is a request.
func (w *writer) counts(o *outcome) bool {
	return w.h.sink.Count && !(w.a.config.Count == CountAttached && (w.inside || o.own != nil))
}

// count counts a span if it is a request.
func (w *writer) count(s ptrace.Span, o *outcome) {
	if o.odd {
		w.a.lost.odd.Add(1) // a request of unknown length is in no bucket
	} else if kind := s.Kind(); w.counts(o) && (kind == ptrace.SpanKindServer || kind == ptrace.SpanKindConsumer) {
		w.j.sums.Add(o.share, o.share.Collections, o.kind, o.watched())
	}
}

// conclude writes down what becomes of one span.
func (w *writer) conclude(win *window, o *outcome) {
	w.count(win.span, o)
	if slow := w.a.config.SlowSpan; w.h.sink.Slow != nil && slow > 0 && o.share.Total >= slow {
		w.slowEvent(win, o)
	}
	if w.h.sink.Take == nil {
		return
	}
	m := win.span.Attributes()
	if o.own != nil {
		o.own.Write(m)
		return
	}
	wire.WriteShare(m, o.share, o.coverage, o.watched())
	if w.boot != "" {
		m.PutStr(semconv.AttrBootID, w.boot)
	}
}

// slowEvent appends the event of a slow span.
func (w *writer) slowEvent(win *window, o *outcome) {
	if w.events.ResourceLogs().Len() == 0 {
		rl := w.events.ResourceLogs().AppendEmpty()
		w.h.spans.Resource().CopyTo(rl.Resource())
		rl.ScopeLogs().AppendEmpty().Scope().SetName(scopeName)
	}
	r := w.events.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().AppendEmpty()
	r.SetEventName(semconv.EventSlowRequest)
	r.SetTimestamp(win.span.StartTimestamp())
	r.SetObservedTimestamp(win.span.EndTimestamp())
	r.SetSeverityNumber(severity(o.share.Total))
	r.SetTraceID(win.span.TraceID())
	r.SetSpanID(win.span.SpanID())
	sentence := o.share.Explain()
	r.Body().SetStr(short(win.span.Name()) + ": " + sentence)
	m := r.Attributes()
	m.PutStr(semconv.AttrSentence, sentence)
	if boot := cmp.Or(w.h.id.Boot, w.boot); boot != "" {
		m.PutStr(semconv.AttrBootID, boot)
		if w.pid != 0 {
			m.PutInt(semconv.AttrProcessPID, int64(w.pid))
		}
		if win.Start > 0 {
			m.PutInt(semconv.AttrStart, int64(win.Start))
			m.PutInt(semconv.AttrEnd, int64(win.End))
			m.PutInt(semconv.AttrSlack, int64(win.off))
		}
	}
	if route := wire.Text(win.span.Attributes(), semconv.AttrRoute); route != "" {
		m.PutStr(semconv.AttrRoute, route)
	}
	m.PutDouble(semconv.AttrDuration, o.share.Total.Seconds())
	m.PutStr(semconv.AttrTraceID, win.span.TraceID().String())
	m.PutStr(semconv.AttrSpanID, win.span.SpanID().String())
	wire.WriteShare(m, o.share, o.coverage, o.watched())
}

// short returns no more of a name than names are kept of.
func short(name string) string {
	if len(name) <= wire.MaxName {
		return name
	}
	return strings.ToValidUTF8(name[:wire.MaxName], "") + "…"
}

// severity is that of an event of so long a time, as in process.
func severity(d time.Duration) plog.SeverityNumber {
	switch {
	case d < time.Millisecond:
		return plog.SeverityNumberDebug
	case d < 10*time.Millisecond:
		return plog.SeverityNumberInfo
	}
	return plog.SeverityNumberWarn
}

// scopeName is the instrumentation scope of what is made here.
const scopeName = "github.com/otelgc/otelgc/collector/internal/attribution"
