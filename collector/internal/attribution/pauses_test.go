package attribution

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestCollectionsForCertain: a span counts the collections that stopped it wherever
// their slack, and that of the wall clock, puts their pauses.
func TestCollectionsForCertain(t *testing.T) {
	for name, x := range map[string]struct {
		slack, wallError time.Duration // of the second pause, of the clock
		want, kind       string
	}{
		"both":                            {0, 0, "several_collections", "full_blocking"},
		"a part of the second":            {time.Millisecond, 0, "several_collections", "full_blocking"},
		"only its nominal place":          {3 * time.Millisecond, 0, "one_collection", "background"},
		"as far as the clock knows":       {time.Millisecond, 2 * time.Millisecond, "one_collection", "background"},
		"the first wherever the clock is": {time.Minute, 4 * time.Millisecond, "one_collection", "background"},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		for at := 99 * sec; at <= 101*sec; at += 2 * sec {
			status := s.status(stall.GCWatch, at)
			attributes(status).PutInt(semconv.AttrWallError, int64(x.wallError))
			a.Learn(status)
		}
		a.Learn(s.collectionOf(gc.Background, stall.GCWatch, 1, 100*sec+10*ms, 100*sec+12*ms, 0))
		a.Learn(s.collectionOf(gc.FullBlocking, stall.GCWatch, 2, 100*sec+15*ms, 100*sec+20*ms, int64(x.slack)))
		a.Hold(s.span(100*sec, 100*sec+18*ms), c.sink(), start)
		a.Flush()
		if got := wire.Text(c.spans[0].Attributes(), semconv.AttrGCOverlap); got != x.want {
			t.Errorf("%s: got %s, want %s", name, got, x.want)
		}
		all := a.series(start.Add(time.Second))
		counted := slices.ContainsFunc(all, func(of string) bool {
			return strings.HasPrefix(of, "otelgc.requests ") && strings.Contains(of, x.want) && strings.Contains(of, x.kind)
		})
		if !counted {
			t.Errorf("%s: no request of %s, %s in %q", name, x.want, x.kind, all)
		}
	}
}

// TestPauseThatMayLastLonger: a stop of .NET is charged up to where the threads were
// told to run, and what is left until the last of them was is uncertain, wherever it
// lies in a span; of Go the bound is when somebody looked, and says nothing.
func TestPauseThatMayLastLonger(t *testing.T) {
	const charged, doubt, unseen = "otelgc.stall.gc.pause", "otelgc.stall.uncertain", "otelgc.stall.unseen"
	for name, x := range map[string]struct {
		source   stall.Origin
		from, to int64 // of the span
		most     []int64
		want     map[string]float64
	}{
		"within the span":           {stall.Dotnet, 0, 20 * ms, []int64{18 * ms}, map[string]float64{charged: 5e-3, doubt: 3e-3, unseen: 12e-3}},
		"up to the end of the span": {stall.Dotnet, 0, 16 * ms, []int64{18 * ms}, map[string]float64{charged: 5e-3, doubt: 1e-3, unseen: 10e-3}},
		"the span begins in it":     {stall.Dotnet, 16 * ms, 20 * ms, []int64{18 * ms}, map[string]float64{doubt: 2e-3, unseen: 2e-3}},
		"the end is certain":        {stall.Dotnet, 0, 20 * ms, []int64{15 * ms}, map[string]float64{charged: 5e-3, unseen: 15e-3}},
		"before the end":            {stall.Dotnet, 0, 20 * ms, []int64{1}, map[string]float64{charged: 5e-3, unseen: 15e-3}},
		"nothing said":              {stall.Dotnet, 0, 20 * ms, nil, map[string]float64{charged: 5e-3, unseen: 15e-3}},
		"for hours":                 {stall.Dotnet, 0, 20 * ms, []int64{2 * 3600 * sec}, map[string]float64{unseen: 20e-3}},
		"Go":                        {stall.GCWatch, 0, 20 * ms, []int64{18 * ms}, map[string]float64{charged: 5e-3, unseen: 15e-3}},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		a.Learn(s.status(x.source, 99*sec))
		ld := s.collection(x.source, 1, 100*sec+10*ms, 100*sec+15*ms, 0)
		list := attributes(ld).PutEmptySlice(semconv.AttrPauseEndMax)
		for _, most := range x.most {
			list.AppendEmpty().SetInt(100*sec + most)
		}
		a.Learn(ld)
		a.Learn(s.status(x.source, 101*sec))
		a.Hold(s.span(100*sec+x.from, 100*sec+x.to), c.sink(), start)
		a.Flush()
		x.want[semconv.AttrCoverage] = 1
		if diff := cmp.Diff(x.want, floats(c.spans[0].Attributes()), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCollectionsCounted: events without an index count one collection each, and the kind
// of a request that counted its own collections is the gravest of all that may have
// stopped it.
func TestCollectionsCounted(t *testing.T) {
	type collection struct {
		kind              gc.Kind
		index             int64 // 0: the event has none
		start, end, slack int64
	}
	for name, x := range map[string]struct {
		collections []collection
		brought     string // the overlap that the span brought
		want, kind  string
	}{
		"none has an index": {
			[]collection{{gc.Background, 0, 2 * ms, 3 * ms, 0}, {gc.Background, 0, 5 * ms, 6 * ms, 0}}, "", "several_collections", "background",
		},
		"one has an index": {
			[]collection{{gc.Background, 7, 2 * ms, 3 * ms, 0}, {gc.FullBlocking, 0, 5 * ms, 6 * ms, 0}}, "", "several_collections", "full_blocking",
		},
		"two of one start": {
			[]collection{{gc.Background, 1, 2 * ms, 5 * ms, 0}, {gc.FullBlocking, 2, 2 * ms, 6 * ms, 0}}, "", "several_collections", "full_blocking",
		},
		"the span has a count, and the gravest is uncertain": {
			[]collection{{gc.Background, 1, 2 * ms, 3 * ms, 0}, {gc.FullBlocking, 2, 9 * ms, 12 * ms, 5 * ms}}, "one_collection", "one_collection", "full_blocking",
		},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		a.Learn(s.status(stall.GCWatch, 99*sec))
		for _, v := range x.collections {
			ld := s.collectionOf(v.kind, stall.GCWatch, v.index, 100*sec+v.start, 100*sec+v.end, v.slack)
			if v.index == 0 {
				attributes(ld).Remove(semconv.AttrGCIndex)
			}
			a.Learn(ld)
		}
		a.Learn(s.status(stall.GCWatch, 101*sec))
		td := s.span(100*sec, 100*sec+10*ms)
		if x.brought != "" {
			m := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
			m.PutStr(semconv.AttrFidelity, "exact")
			m.PutStr(semconv.AttrGCOverlap, x.brought)
			m.PutDouble(semconv.AttrStallPrefix+"gc.pause", 1e-3)
			m.PutDouble(semconv.AttrStallPrefix+"app_or_host", 9e-3)
		}
		a.Hold(td, c.sink(), start)
		a.Flush()
		if got := wire.Text(c.spans[0].Attributes(), semconv.AttrGCOverlap); got != x.want {
			t.Errorf("%s: overlap %s, want %s", name, got, x.want)
		}
		all := a.series(start.Add(time.Second))
		if !slices.ContainsFunc(all, func(of string) bool {
			return strings.HasPrefix(of, "otelgc.requests ") && strings.Contains(of, semconv.AttrGCKind+":"+x.kind+" ")
		}) {
			t.Errorf("%s: no request of kind %s in %q", name, x.kind, all)
		}
	}
}
