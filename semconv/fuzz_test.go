package semconv_test

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// FuzzDecode: an event that was made of a collection, a stop, a gap, a request or a status says the
// same when it is read. What is made of any numbers is an error, or within the limits.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed, int64(seed), int64(1)<<seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64, n, m int64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for name, made := range map[string]func(*rand.Rand) ([]slog.Attr, semconv.Record){
			semconv.EventCollection: aCollection, semconv.EventSuspension: aSuspension, semconv.EventGap: aGap, semconv.EventSourceStatus: aStatus,
			semconv.EventTraced: aTraced,
		} {
			attrs, want := made(r)
			a := attributes{}
			for _, v := range attrs {
				a[v.Key] = v.Value.Any()
			}
			got, err := semconv.Decode(name, a)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Fatalf("%s: %v (-want +got):\n%s", name, err, diff)
			}
			a[attrs[r.IntN(len(attrs))].Key] = n
			a[attrs[r.IntN(len(attrs))].Key] = math.Float64frombits(uint64(m))
			a[attrs[r.IntN(len(attrs))].Key] = []int64{n, m}
			if got, err = semconv.Decode(name, a); err == nil {
				within(t, &got)
			}
		}
	})
}

func within(t *testing.T, r *semconv.Record) {
	t.Helper()
	for _, v := range r.Intervals {
		if v.Start <= 0 || v.End < v.Start || v.End > semconv.MaxInstant || v.Slack < 0 || v.Slack > semconv.MaxSlack {
			t.Errorf("believed: %+v", v)
		}
	}
	for _, u := range r.Status.Unseen {
		if u.Start < 0 || u.End < u.Start || u.End > semconv.MaxInstant {
			t.Errorf("believed: %+v", u)
		}
	}
	if q := r.Traced; q != nil {
		var all time.Duration
		for o := semconv.Owner(stall.GCPause); o < semconv.NumOwners; o++ {
			d := *o.Part(&q.Share)
			if all += d; d < 0 {
				t.Errorf("believed: %+v", q)
			}
		}
		if q.Start <= 0 || q.End < q.Start || q.End > semconv.MaxInstant || q.Slack < 0 || q.Slack > semconv.MaxSlack || all != q.Duration() || all != q.Share.Total || q.Share.Covered < 0 || q.Share.Covered > all {
			t.Errorf("believed: %+v", q)
		}
	}
	if s := &r.Status; s.Since < 0 || s.Since > s.At || s.Watermark > s.At || s.At > semconv.MaxInstant {
		t.Errorf("believed: %+v", s)
	}
	if len(r.Intervals) > semconv.MaxListed || len(r.Status.Unseen) > semconv.MaxListed || len(r.Status.Cgroups) > semconv.MaxCgroups {
		t.Errorf("%d intervals, %d unseen spans and %d cgroups", len(r.Intervals), len(r.Status.Unseen), len(r.Status.Cgroups))
	}
}

// anExtent returns the attributes of every event, and the interval that they are of.
func anExtent(r *rand.Rand, s stall.Origin) ([]slog.Attr, stall.Interval) {
	start := 1 + stall.Instant(r.Int64N(int64(semconv.MaxInstant-semconv.MaxStall)))
	v := stall.Interval{Start: start, End: start + stall.Instant(r.Int64N(int64(semconv.MaxStall))), Slack: time.Duration(r.Int64N(1000)), Origin: s, CPU: -1}
	return semconv.AppendEvent(nil, &semconv.Occurrence{Start: v.Start, End: v.End, Slack: v.Slack, Origin: s, BootID: "b", PID: 1}), v
}

func aCollection(r *rand.Rand) ([]slog.Attr, semconv.Record) {
	s := []stall.Origin{stall.GCWatch, stall.GoTrace, stall.Dotnet}[r.IntN(3)]
	attrs, v := anExtent(r, s)
	c := gc.Collection{Index: 1 + r.Uint64N(1e9), Kind: gc.Kind(r.IntN(int(gc.NumKinds))), Origin: s}
	want := semconv.Record{Origin: s, Kind: c.Kind}
	for range r.IntN(semconv.MaxPauses) {
		p := gc.Pause{Start: v.Start, End: v.End, Slack: v.Slack}
		p.EndMax = p.End + stall.Instant(r.IntN(1000))
		if p.EndMax-p.Start > semconv.MaxStall {
			p.EndMax = p.End
		}
		c.Pauses = append(c.Pauses, p)
		pause := v
		pause.Cause, pause.Ref = stall.GCPause, c.Index
		want.Intervals = append(want.Intervals, pause)
		if s == stall.Dotnet {
			want.EndMax = append(want.EndMax, p.EndMax)
		}
	}
	return semconv.AppendCollection(attrs, &c), want
}

func aSuspension(r *rand.Rand) ([]slog.Attr, semconv.Record) {
	attrs, v := anExtent(r, stall.GoTrace)
	v.Cause, v.Scope = stall.RuntimeSuspension, stall.ScopeProcess
	return semconv.AppendSuspension(attrs, &semconv.Suspension{Reason: "r"}), semconv.Record{Origin: stall.GoTrace, Intervals: []stall.Interval{v}}
}

func aGap(r *rand.Rand) ([]slog.Attr, semconv.Record) {
	attrs, v := anExtent(r, stall.ProbeSpin)
	v.Cause, v.Scope = stall.HostPreempted, []stall.Scope{stall.ScopeCPU, stall.ScopeTarget, stall.ScopeCgroup, stall.ScopeMachine}[r.IntN(4)]
	want := semconv.Record{Origin: v.Origin}
	switch v.Scope {
	case stall.ScopeCPU:
		v.CPU = r.Int32N(1 << 10)
	case stall.ScopeTarget:
		v.Owner.PID, want.TargetPID = 7, 7
		want.TargetCreated = 1 + r.Uint64N(1e9)
	case stall.ScopeCgroup:
		v.Owner.Cgroup = 1 + r.Uint64N(1e9)
	}
	want.Intervals = []stall.Interval{v}
	sent := v
	sent.Owner.Created = want.TargetCreated
	return semconv.AppendGap(attrs, &semconv.Gap{Interval: sent}), want
}

func aTraced(r *rand.Rand) ([]slog.Attr, semconv.Record) {
	attrs, v := anExtent(r, stall.GoTrace)
	q := &semconv.Traced{Span: v.Span(), Slack: v.Slack, Task: "task"}
	q.Share = stall.Share{Total: v.Duration(), Covered: time.Duration(r.Int64N(int64(v.Duration()) + 1)), Collections: r.IntN(len(semconv.Overlaps)), Fidelity: stall.Exact}
	left := v.Duration()
	for o := semconv.Owner(stall.GCPause); o < semconv.Unseen; o++ {
		if r.IntN(3) == 0 {
			d := time.Duration(r.Int64N(int64(left) + 1))
			*o.Part(&q.Share) = d
			left -= d
		}
	}
	q.Share.Unseen = left
	return semconv.AppendTraced(attrs, q), semconv.Record{Origin: v.Origin, Traced: q}
}

func aStatus(r *rand.Rand) ([]slog.Attr, semconv.Record) {
	attrs, v := anExtent(r, stall.GCWatch)
	s := semconv.Status{Origin: v.Origin, Since: v.Start, At: v.End, Watermark: v.Start, Wall: stall.WallOffset{At: v.End, Offset: time.Duration(r.Int64N(1e18)), Error: v.Slack}}
	for range r.IntN(semconv.MaxUnseen) {
		s.Unseen = append(s.Unseen, v.Span())
	}
	for range r.IntN(semconv.MaxCgroups) {
		s.Cgroups = append(s.Cgroups, 1+r.Uint64N(1e9))
	}
	return semconv.AppendStatus(attrs, &s), semconv.Record{Origin: v.Origin, Status: s}
}
