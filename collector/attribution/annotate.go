package attribution

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
)

// The owners of time beside the causes.
const (
	attrApp       = stall.AttrStallPrefix + "app"
	attrAppOrHost = stall.AttrStallPrefix + "app_or_host"
	attrUncertain = stall.AttrStallPrefix + "uncertain"
	attrUnseen    = stall.AttrStallPrefix + "unseen"
)

// names are the attributes of the causes, made once.
type names [stall.NumCauses]string

func newNames() (n names) {
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		n[c] = stall.AttrStallPrefix + c.String()
	}
	return n
}

var overlaps = [...]string{"none", "one_collection", "several_collections"}

func overlap(collections int) string { return overlaps[min(max(collections, 0), len(overlaps)-1)] }

// each yields what is not zero of a share, by attribute.
func (n *names) each(s *stall.Share, yield func(name string, d time.Duration)) {
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		if s.Charged[c] > 0 {
			yield(n[c], s.Charged[c])
		}
	}
	for _, rest := range [...]struct {
		name string
		d    time.Duration
	}{{attrApp, s.App}, {attrAppOrHost, s.AppOrHost}, {attrUncertain, s.Uncertain}} {
		if rest.d > 0 {
			yield(rest.name, rest.d)
		}
	}
}

// write puts a share into attributes.
func (n *names) write(m pcommon.Map, s *stall.Share, coverage float64) {
	m.EnsureCapacity(m.Len() + 8)
	n.each(s, func(name string, d time.Duration) { m.PutDouble(name, d.Seconds()) })
	m.PutDouble(attrUnseen, s.Unseen.Seconds())
	m.PutDouble(stall.AttrCoverage, coverage)
	m.PutStr(stall.AttrGCOverlap, overlap(s.Collections))
	m.PutStr(stall.AttrFidelity, s.Fidelity.String())
}

// carries returns the share that a span carries from its own process, nil if it
// carries none.
func carries(m pcommon.Map) *stall.Share {
	of := []pcommon.Map{m}
	fidelity := text(stall.AttrFidelity, of)
	if fidelity == "" {
		return nil
	}
	var s stall.Share
	if fidelity == stall.Exact.String() {
		s.Fidelity = stall.Exact
	}
	read := func(name string) time.Duration {
		v, ok := m.Get(name)
		if !ok || v.Type() != pcommon.ValueTypeDouble || !(v.Double() >= 0 && v.Double() < longestSpan.Seconds()) {
			return 0
		}
		return time.Duration(v.Double() * float64(time.Second))
	}
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		s.Charged[c] = read(stall.AttrStallPrefix + c.String())
		s.Total += s.Charged[c]
	}
	s.App, s.AppOrHost, s.Uncertain, s.Unseen = read(attrApp), read(attrAppOrHost), read(attrUncertain), read(attrUnseen)
	s.Total += s.App + s.AppOrHost + s.Uncertain + s.Unseen
	for n, name := range overlaps {
		if text(stall.AttrGCOverlap, of) == name {
			s.Collections = n
		}
	}
	return &s
}

// conclude writes down what becomes of one span.
func (a *Attributor) conclude(h *held, d *done, service *serviceSums, w *window, own bool, s *stall.Share, coverage float64) {
	if h.sink.Count && (w.span.Kind() == ptrace.SpanKindServer || w.span.Kind() == ptrace.SpanKindConsumer) {
		service.add(s)
	}
	if h.sink.Slow != nil && a.config.SlowSpan > 0 && s.Total >= a.config.SlowSpan {
		a.tell(h, d.told, w, s, coverage)
	}
	if h.sink.Traces == nil {
		return
	}
	m := w.span.Attributes()
	if own {
		a.join.names.each(s, func(name string, d time.Duration) { m.PutDouble(name, d.Seconds()) })
		if _, has := m.Get(attrAppOrHost); has {
			m.PutDouble(attrAppOrHost, s.AppOrHost.Seconds())
		}
		return
	}
	a.join.names.write(m, s, coverage)
}

// tell appends the event of a slow span.
func (a *Attributor) tell(h *held, ld plog.Logs, w *window, s *stall.Share, coverage float64) {
	if ld.ResourceLogs().Len() == 0 {
		rl := ld.ResourceLogs().AppendEmpty()
		h.spans.ResourceSpans().At(0).Resource().CopyTo(rl.Resource())
		rl.ScopeLogs().AppendEmpty().Scope().SetName(scopeName)
	}
	r := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().AppendEmpty()
	r.SetEventName(stall.EventSlowRequest)
	r.SetTimestamp(w.span.StartTimestamp())
	r.SetObservedTimestamp(w.span.EndTimestamp())
	r.SetSeverityNumber(plog.SeverityNumberWarn)
	r.SetTraceID(w.span.TraceID())
	r.SetSpanID(w.span.SpanID())
	sentence := s.Explain()
	r.Body().SetStr(w.span.Name() + ": " + sentence)
	m := r.Attributes()
	m.PutStr(stall.AttrSentence, sentence)
	if h.id.boot != "" {
		m.PutStr(stall.AttrBootID, h.id.boot)
		m.PutInt(stall.AttrProcessPID, h.id.process.number)
		if w.Start > 0 {
			m.PutInt(stall.AttrStart, int64(w.Start))
			m.PutInt(stall.AttrEnd, int64(w.End))
		}
	}
	m.PutDouble(stall.AttrDuration, s.Total.Seconds())
	m.PutStr(stall.AttrTraceID, w.span.TraceID().String())
	m.PutStr(stall.AttrSpanID, w.span.SpanID().String())
	a.join.names.write(m, s, coverage)
}

// scopeName is the instrumentation scope of what is made here.
const scopeName = "github.com/otelgc/otelgc/collector/attribution"
