package page

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/target"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const evil = "<script>alert(1)</script>\x1b[31m\x00\"'&"

func newPage(t testing.TB) *Page {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{
		Clock:      clock,
		Losses:     func() map[[2]string]uint64 { return map[[2]string]uint64{{"event", "limit"}: 3} },
		Unexported: func() *otelenv.Unexported { return &otelenv.Unexported{Events: 7, Error: evil} },
	})
}

func gap(end stall.Instant, length time.Duration, name string) jitterprobe.Gap {
	return jitterprobe.Gap{
		Interval: stall.Interval{Start: end.Add(-length), End: end, Cause: stall.HostPreempted, Scope: stall.ScopeCPU, CPU: 2},
		Evidence: jitterprobe.Evidence{Witness: jitterprobe.SwitchRecord, Name: name, TID: 5, Time: length},
	}
}

func collection(target int, index uint64, end stall.Instant, length time.Duration) recording.Collection {
	start := end.Add(-length)
	return recording.Collection{Target: target, Collection: gc.Collection{
		Index: index, Kind: gc.Background, Trigger: gc.Trigger(evil), Generation: gc.Known(2), Start: gc.Known(start), End: gc.Known(end),
		HeapBefore: gc.Known(gc.Bytes(4 << 20)), HeapAfter: gc.Known(gc.Bytes(1 << 20)),
		Pauses: []gc.Pause{{Start: start, End: end, EndMax: end, HostDuring: gc.HostDuring{CPUWait: gc.Known(time.Millisecond)}}},
	}}
}

// fill gives a page some of everything, with names of somebody hostile.
func fill(p *Page) {
	now := p.o.Clock.Now()
	p.Watched(Machine{Probes: []Probe{
		{Mode: "spin", CPU: 2, Threshold: 10 * time.Microsecond, Limits: []string{"host.irq cannot be decided: " + evil}, Snapshot: jitterprobe.Snapshot{Start: 1, Watermark: 2e9 + 1, Gaps: 5, GapTime: time.Second, Dropped: 4, DroppedTime: time.Millisecond}},
		{Mode: "periodic", CPU: -1, Note: evil},
	}, Note: evil})
	p.Gap(gap(now, 3*time.Millisecond, evil))
	p.Gap(gap(now, 2*time.Millisecond, "x"))
	p.Record(recording.Host{PID: 42, Followed: true, At: now, Totals: hostcount.Totals{Denied: time.Second, Dropped: 9}})
	p.Record(recording.Target{ID: 1, PID: 42, Name: evil, Runtime: "dotnet", Facts: map[string]string{"flavor": evil, evil: evil}})
	p.Progress(target.Progress{ID: 1, Summary: target.Summary{
		PID: 42, Service: "shop " + evil, CommandLine: strings.Repeat(evil, 1000), Runtime: evil, Sessions: 1, Lost: 8, Unseen: int64(time.Second), PauseTotal: 7,
		Detached: 1, DetachedWhy: evil, Collections: target.Counts{Total: 1, Kinds: map[string]uint64{"background": 1}}, Unexported: &otelenv.Unexported{Error: evil},
	}})
	p.Record(collection(1, 3, now, 5*time.Millisecond))
	p.Record(recording.Suspension{Target: 1, Span: stall.Span{Start: now - 20e6, End: now - 19e6}, Reason: evil})
	p.Progress(target.Progress{ID: 2, Summary: target.Summary{PID: 43, Service: evil, Why: evil}})
	p.Progress(target.Progress{ID: 3, Over: true, Summary: target.Summary{PID: 44, Service: "ended", Sessions: 1, Why: "the process ended"}})
	p.Progress(target.Progress{Summary: target.Summary{PID: 45, Service: evil, Why: "not watched: 64 other processes are"}})
}

func get(h http.Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w
}

// TestHostileNames: whatever a process calls itself is text, and commands no terminal.
func TestHostileNames(t *testing.T) {
	p := newPage(t)
	fill(p)
	for _, target := range []string{"/", "/process/1", "/process/2", "/process/3"} {
		body := get(p, target).Body.String()
		for _, not := range []string{"<script>", "\x1b", "\x00", "style=", "http://", "https://"} {
			if strings.Contains(body, not) {
				t.Errorf("%s has %q", target, not)
			}
		}
		if len(body) > 100_000 {
			t.Errorf("%s has %d bytes", target, len(body))
		}
		wellFormed(t, target, body)
	}
}

func wellFormed(t *testing.T, name, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%s is not well-formed: %v", name, err)
		}
	}
}

// TestPage: what was seen is there, and what was not seen is said.
func TestPage(t *testing.T) {
	p := newPage(t)
	body := get(p, "/").Body.String()
	for _, want := range []string{"No probe has looked yet", "attached to no process"} {
		if !strings.Contains(body, want) {
			t.Errorf("a page of nothing has no %q", want)
		}
	}
	fill(p)
	for target, want := range map[string][]string{
		"/": {
			"<td class=\"l\">spin</td>", "4 gaps, 1.00 ms", "Other CPUs have no probe", "there is no board", "preempted by", "Gaps over time", "Pauses over time",
			"The heap before and after", "a thread was ready, and none ran", "9 events of the scheduler not seen", `href="process/1"`, "GC 3, background, generation 2",
			"over 0s ago: the process ended", "not watched: 64 other processes are", "8 events lost", "events_lost=7", "<td class=\"l\">limit</td>",
		},
		"/process/1": {"Command line", "Pause 1 by length, 5.00 ms", "flavor", "all processes"},
		"/process/2": {"whether it stops is not seen"},
		"/process/3": {"It is over"},
	} {
		body := get(p, target).Body.String()
		for _, want := range want {
			if !strings.Contains(body, want) {
				t.Errorf("%s has no %q", target, want)
			}
		}
	}
	for _, name := range []string{"0", "9", "x", "-1", ""} {
		if w := get(p, "/process/"+name); w.Code != http.StatusNotFound {
			t.Errorf("process %q: status %d, want 404", name, w.Code)
		}
	}
}

// TestData: data.json has the same for programs.
func TestData(t *testing.T) {
	p := newPage(t)
	var d document
	read := func() {
		t.Helper()
		d = document{}
		if err := json.Unmarshal(get(p, "/data.json").Body.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if d.Schema != "otelgc.sidecar.page/1" || d.Processes == nil || d.Gaps == nil || d.Probes == nil {
		t.Errorf("document of nothing %+v", d)
	}
	fill(p)
	read()
	if len(d.Probes) != 2 || *d.Probes[0].CPU != 2 || d.Probes[1].CPU != nil || d.Probes[0].Duration != 2*time.Second || d.Probes[0].Dropped != 4 {
		t.Errorf("probes %+v", d.Probes)
	}
	if len(d.Gaps) != 2 || d.Gaps[0].Duration() != 3*time.Millisecond || d.Gaps[0].Cause != stall.HostPreempted || *d.Gaps[0].CPU != 2 {
		t.Errorf("gaps %+v", d.Gaps)
	}
	if d.Target == nil || d.Target.Denied != time.Second {
		t.Errorf("target %+v", d.Target)
	}
	var got []string
	for _, one := range d.Processes {
		got = append(got, fmt.Sprintf("%d: pid %d, ended %v, %d pauses", one.ID, one.PID, one.Ended > 0, len(one.Longest)))
	}
	want := []string{"1: pid 42, ended false, 2 pauses", "2: pid 43, ended false, 0 pauses", "3: pid 44, ended true, 0 pauses"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	if s := d.Processes[0].Longest[0]; s.Duration() != 5*time.Millisecond || s.Collection != 3 || s.Cause != stall.GCPause || s.CPUWait.Or(0) != time.Millisecond {
		t.Errorf("longest pause %+v", s)
	}
	if len(d.Waiting) != 1 || d.Waiting[0].PID != 45 || d.Lost[0].Count != 3 || d.Unexported.Events != 7 {
		t.Errorf("waiting %+v, lost %+v, not exported %+v", d.Waiting, d.Lost, d.Unexported)
	}
}

// TestBeforeTheBoot: what is said to have been before the machine was up is not shown.
func TestBeforeTheBoot(t *testing.T) {
	p := newPage(t)
	for _, at := range []stall.Instant{-1, -90 * stall.Instant(time.Second), math.MinInt64} {
		p.Gap(gap(at, 20_000, "x"))
		p.Record(collection(1, 1, at, 100_000))
	}
	if got := len(p.longest.longest(p.o.Clock.Now())); got != 0 {
		t.Errorf("%d gaps are shown, want none", got)
	}
}

// TestBounds: neither gaps nor processes nor their pauses without end make the page grow.
func TestBounds(t *testing.T) {
	p := newPage(t)
	now := p.o.Clock.Now()
	for i := range 100_000 {
		at := now.Add(-20*time.Minute + time.Duration(i)*12*time.Millisecond)
		p.Gap(gap(at, time.Duration(20_000+i*7919%100_000), "x"))
		p.Record(collection(1, uint64(i), at, time.Duration(100_000+i*7919%100_000)))
	}
	for i := range 1000 {
		id := 2 + i
		p.Progress(target.Progress{ID: id, Over: id%2 == 0, Summary: target.Summary{PID: id, Sessions: 1}})
		if id%2 == 1 {
			p.Progress(target.Progress{ID: id, Over: true, Summary: target.Summary{PID: id, Sessions: 1}})
		}
		p.Progress(target.Progress{Summary: target.Summary{PID: 5000 + i}})
	}
	if n := len(p.gaps.slots); n > maxSlots {
		t.Errorf("%d slots of gaps", n)
	}
	one := p.processes[1]
	if one == nil {
		t.Fatal("a process that has not ended is forgotten")
	}
	if a, b := len(one.pauses.slots), len(one.heaps.slots); a > maxSlots || b > maxSlots || len(one.last) > maxAround {
		t.Errorf("%d slots of pauses, %d of heaps, %d stops", a, b, len(one.last))
	}
	list := one.longest.longest(now)
	if len(list) > minutes*keptPauses {
		t.Errorf("%d pauses are kept", len(list))
	}
	for _, v := range list {
		if len(v.around) > maxAround {
			t.Errorf("%d stops around a pause", len(v.around))
		}
	}
	if a, b := len(p.processes), len(p.waiting); a != maxProcesses || b != maxWaiting {
		t.Errorf("%d processes, %d that wait, want %d and %d", a, b, maxProcesses, maxWaiting)
	}
	if p.left != 1001-maxProcesses {
		t.Errorf("%d processes made room, want %d", p.left, 1001-maxProcesses)
	}
	if n := len(get(p, "/").Body.String()); n > 1<<20 {
		t.Errorf("the page has %d bytes", n)
	}
	p.mu.Lock()
	p.forget(now.Add(time.Hour))
	a, b := len(p.processes), len(p.waiting)
	p.mu.Unlock()
	if one.pauses.slots != nil || one.heaps.slots != nil {
		t.Errorf("an hour later %d and %d slots are drawn no longer, and kept", len(one.pauses.slots), len(one.heaps.slots))
	}
	if a != 1 || b != 0 {
		t.Errorf("an hour later %d processes and %d that wait, want 1 and 0", a, b)
	}
}

// TestNoPage: without a page nothing is kept, and nothing fails.
func TestNoPage(t *testing.T) {
	var p *Page
	p.Watched(Machine{})
	p.Gap(jitterprobe.Gap{})
	p.Record(recording.Host{})
	p.Progress(target.Progress{})
}

// BenchmarkSections is what an update costs while somebody looks, with gaps and pauses in
// every slot: one every two seconds.
func BenchmarkSections(b *testing.B) {
	p := newPage(b)
	now := p.o.Clock.Now()
	for i := range 3000 {
		at := now.Add(-5*time.Minute + time.Duration(i)*100*time.Millisecond)
		p.Gap(gap(at, time.Duration(20_000+i*7919%100_000), "x"))
		for id := 1; id <= drawnProcesses; id++ {
			p.Record(collection(id, uint64(i), at, time.Duration(100_000+i*7919%100_000)))
		}
	}
	for b.Loop() {
		p.sections()
	}
}

// BenchmarkRecord is what each collection costs, whether somebody looks or not.
func BenchmarkRecord(b *testing.B) {
	p := newPage(b)
	now := p.o.Clock.Now()
	i := 0
	for b.Loop() {
		i++
		p.Record(collection(1, uint64(i), now.Add(time.Duration(i)*time.Millisecond), time.Duration(100_000+i*7919%100_000)))
	}
}
