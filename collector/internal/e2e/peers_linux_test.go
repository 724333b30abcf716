package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// spansOfOther is how many spans each of the other machines has.
const spansOfOther = 10

// dial connects to a port of the agent, once.
func (n *tiers) dial(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	if c := n.clients[addr]; c != nil {
		return c
	}
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // a client's
	n.clients[addr] = c
	return c
}

// sendOthers sends spans of other machines through the agent: all of one trace,
// in one request, as a relay would.
func (n *tiers) sendOthers(t *testing.T, boots map[string]bool) {
	t.Helper()
	td := ptrace.NewTraces()
	for boot := range boots {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", "e2e-other")
		rs.Resource().Attributes().PutStr("otelgc.boot.id", boot)
		ss := rs.ScopeSpans().AppendEmpty()
		for i := range spansOfOther {
			sp := ss.Spans().AppendEmpty()
			sp.SetTraceID(pcommon.TraceID{1})
			sp.SetSpanID(spanID(boot, i))
			sp.SetName("elsewhere")
			sp.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
			sp.SetStartTimestamp(sp.EndTimestamp() - 1e6)
		}
	}
	n.export(t, td)
}

// wallSpan is a stretch of wall time, Unix ns.
type wallSpan struct{ start, end int64 }

// sendOf sends spans of a service with a resource, as its SDK would.
func (n *tiers) sendOf(t *testing.T, service string, resource map[string]string, spans []wallSpan) {
	t.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", service)
	for k, v := range resource {
		rs.Resource().Attributes().PutStr(k, v)
	}
	ss := rs.ScopeSpans().AppendEmpty()
	for i, w := range spans {
		sp := ss.Spans().AppendEmpty()
		sp.SetTraceID(pcommon.TraceID{2})
		sp.SetSpanID(spanID(service, i))
		sp.SetName("request")
		sp.SetStartTimestamp(pcommon.Timestamp(w.start))
		sp.SetEndTimestamp(pcommon.Timestamp(w.end))
	}
	n.export(t, td)
}

func spanID(service string, i int) (id pcommon.SpanID) {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d", service, i) // a hash takes everything
	binary.BigEndian.PutUint64(id[:], h.Sum64())
	return id
}

// export sends spans to the agent.
func (n *tiers) export(t *testing.T, td ptrace.Traces) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := ptraceotlp.NewGRPCClient(n.dial(t, n.agent.grpc)).Export(ctx, ptraceotlp.NewExportRequestFromTraces(td)); err != nil {
		t.Fatal(err)
	}
}

// steal waits for some spans of plain and then tells, as a probe that watches
// every CPU would, that the machine was away in the midst of the last of them.
func (n *tiers) steal(t *testing.T, ids string, ps ...*process) wallSpan {
	t.Helper()
	var from, to int64
	eventually(t, "spans to be stalled", func() error {
		all := madeSpans(t, ids)
		if len(all) < 50 {
			return fmt.Errorf("%d spans", len(all))
		}
		for _, m := range all {
			to = max(to, m.end)
		}
		from, to = to-int64(130*time.Millisecond), to-int64(30*time.Millisecond)
		return nil
	}, ps...)
	toMono := -wallOffset(t)
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "e2e-probe")
	r := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetEventName("otelgc.jitter.gap")
	r.SetTimestamp(pcommon.Timestamp(from))
	a := r.Attributes()
	a.PutStr("otelgc.boot.id", bootID(t))
	a.PutStr("otelgc.source", "probe.spin")
	a.PutStr("otelgc.cause", "host.steal")
	a.PutStr("otelgc.jitter.scope", "machine")
	a.PutInt("process.pid", int64(ps[0].cmd.Process.Pid))
	a.PutInt("otelgc.start", from+toMono)
	a.PutInt("otelgc.end", to+toMono)
	n.tellBy(t, n.agent.sidecar, ld)
	return wallSpan{from, to}
}

// tell sends events to the agent, as a service does.
func (n *tiers) tell(t *testing.T, ld plog.Logs) { t.Helper(); n.tellBy(t, n.agent.grpc, ld) }

// tellBy sends events to a port of the agent.
func (n *tiers) tellBy(t *testing.T, addr string, ld plog.Logs) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := plogotlp.NewGRPCClient(n.dial(t, addr)).Export(ctx, plogotlp.NewExportRequestFromLogs(ld)); err != nil {
		t.Fatal(err)
	}
}
