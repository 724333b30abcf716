package attribution

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// tale turns bytes into events of few hosts and processes.
type tale struct {
	rest []byte
	s    *sender
}

func (r *tale) next(n int) int64 {
	if len(r.rest) == 0 {
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return int64(int(b) % n)
}

// another makes somebody else speak.
func (r *tale) another() {
	s := r.s
	s.boot, s.pid, s.with = strconv.Itoa(int(r.next(4))), 1+r.next(6), m{}
	if c := r.next(8); c > 0 && c < 4 {
		s.with[wire.AttrContainerID] = strconv.Itoa(int(c))
	}
	if r.next(3) == 0 {
		s.with[semconv.AttrHostName] = strconv.Itoa(int(r.next(3)))
	}
}

// event makes the next event: of any source, often of who spoke last, and mostly of a
// time near now.
func (r *tale) event(now int64) plog.Logs {
	s := r.s
	if s.with == nil || r.next(3) == 0 {
		r.another()
	}
	source := stall.Origin(1 + r.next(int(stall.NumOrigins)-1))
	at := max(1, now-r.next(8)*r.next(3)*sec)
	if r.next(64) == 0 {
		at = now * (1 + r.next(1000))
	}
	switch r.next(5) {
	case 0, 1:
		return r.status(source, at)
	case 3:
		ld := s.traced(at, at+r.next(9)*ms, "GET /", nil)
		for range r.next(8) * r.next(12) {
			at += r.next(3) * ms
			s.traced(at, at+r.next(9)*ms, "GET /", nil).ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
		}
		return ld
	case 2:
		ld := s.gap(source, stall.HostSteal, stall.Scope(r.next(int(stall.NumScopes))), at, at+r.next(9)*ms)
		attributes(ld).PutInt(semconv.AttrTargetPID, 1+r.next(3))
		attributes(ld).PutInt(semconv.AttrTargetCreated, r.next(3))
		return ld
	}
	ld := s.collection(source, 0, at, at+r.next(9)*ms, 0)
	for i := range r.next(8) * r.next(12) {
		at += r.next(3) * ms
		s.collection(source, i, at, at+ms, 0).ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
	}
	return ld
}

// status makes one that follows the last of its source, or not quite.
func (r *tale) status(source stall.Origin, at int64) plog.Logs {
	s := r.s
	s.told[teller{s.boot, s.pid, source}] = max(0, at-r.next(5)*sec)
	ld := s.status(source, at)
	a := attributes(ld)
	a.PutInt(semconv.AttrTargetPID, r.next(3))
	starts, ends, cgroups := a.PutEmptySlice(semconv.AttrUnseenStart), a.PutEmptySlice(semconv.AttrUnseenEnd), a.PutEmptySlice(semconv.AttrCgroupIDs)
	for range r.next(2) * r.next(5) {
		starts.AppendEmpty().SetInt(max(0, at-r.next(5)*sec))
		ends.AppendEmpty().SetInt(at + r.next(2)*sec)
	}
	for range r.next(2) * r.next(5) {
		cgroups.AppendEmpty().SetInt(1 + r.next(3))
	}
	return ld
}

// begins are when the spans began by the clock of the hosts, of which half do not say.
var begins = [8]int64{4: 990 * sec, 1000 * sec, 1010 * sec, 1300 * sec}

// waiting makes spans of the same hosts and processes, of which some are told only
// later, or never.
func (r *tale) waiting() (all []*held) {
	some := func(n int) string {
		if c := r.next(n); c > 0 {
			return strconv.Itoa(int(c) - 1)
		}
		return ""
	}
	for _, begin := range begins {
		id := wire.Identity{Boot: some(5), HostName: some(4), Container: some(4), PID: int32(r.next(8))}
		if id.Container == "0" { // there is none
			id.Container = ""
		}
		if begin != 0 {
			begin += offset
		}
		all = append(all, &held{id: id, begin: begin})
	}
	return all
}

// FuzzKnown: whatever is told in whatever order while time passes, what is
// counted is what is kept, no limit is passed, and every index agrees.
func FuzzKnown(f *testing.F) {
	random := rand.New(rand.NewPCG(13, 14))
	for range 100 {
		b := make([]byte, 1000)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &tale{b, newSender()}
		limit := []int{32 << 10, 128 << 10, 1 << 20}[r.next(3)]
		a := New(Config{MaxBytes: limit, MaxHosts: 3, MaxProcesses: 8})
		now, spans := 1000*sec, r.waiting()
		for len(r.rest) > 0 {
			switch r.next(8) {
			case 0:
				now += r.next(5) * r.next(5) * r.next(12) * sec
				a.Tick(time.Unix(0, now))
			default:
				a.Learn(r.event(now))
			}
			checkKnown(t, a, limit)
			for _, h := range spans {
				checkLook(t, &a.known, h)
			}
		}
		a.Tick(time.Unix(0, now))
		a.Tick(time.Unix(0, now+3600*sec))
		if k := &a.known; len(k.hosts)+len(k.exact)+len(k.index)+len(k.named)+len(k.tracing)+k.processes > 0 || knownBytes(a) != 0 {
			t.Fatalf("after an hour of silence %d hosts, %d links, %d names are known, %d bytes are counted",
				len(k.hosts), len(k.index), len(k.named), knownBytes(a))
		}
	})
}

// checkLook: who looks only if something changed finds what who looks anew finds.
// Which of several it is, and whether one has ended, time alone may say, and that is
// asked once a second.
func checkLook(t *testing.T, k *registry, h *held) {
	t.Helper()
	k.look(h)
	anew := &held{id: h.id, begin: h.begin}
	k.lookAnew(anew)
	want := anew.found
	if h.found.contested && (want.contested || h.begin != 0) && k.clock-h.looked < lookAgain {
		return
	}
	if h.found != want {
		t.Fatalf("a span of %+v that began at %d is of %+v, want %+v", h.id, h.begin, h.found, want)
	}
}

func checkKnown(t *testing.T, a *Attributor, limit int) {
	t.Helper()
	k := &a.known
	bytes, processes, exact := 0, 0, 0
	for boot, h := range k.hosts {
		bytes += hostBytes + wire.TextBytes + len(boot)
		for i := range h.probes {
			bytes += h.probes[i].weight()
		}
		for e := h.processes.Front(); e != nil; e = e.Next() {
			p := e.Value.(*process)
			processes++
			bytes += p.weight() + p.owned()
			checkProcess(t, k, p)
			if !p.target {
				exact++
			}
		}
		for _, name := range h.names() {
			if !slices.Contains(k.named[name], h) {
				t.Fatalf("host %s is not known as %s", boot, name)
			}
		}
	}
	if bytes != knownBytes(a) || bytes > limit/budget.MostKnown {
		t.Fatalf("%d bytes are kept, %d counted of %d", bytes, knownBytes(a), limit/budget.MostKnown)
	}
	if processes != k.processes || processes > k.config.MaxProcesses || len(k.hosts) > k.config.MaxHosts {
		t.Fatalf("%d hosts, %d processes, counted %d", len(k.hosts), processes, k.processes)
	}
	if exact != len(k.exact) || k.recent.Len() != len(k.hosts) {
		t.Fatalf("%d identities of %d, %d hosts of %d", len(k.exact), exact, k.recent.Len(), len(k.hosts))
	}
}

func has(all map[*process]struct{}, p *process) bool {
	_, ok := all[p]
	return ok
}

func checkProcess(t *testing.T, k *registry, p *process) {
	t.Helper()
	switch {
	case p.target && p.host.targets[p.outer] != p, !p.target && k.exact[p.id] != p:
		t.Fatalf("process %+v is not found", p.id)
	case p.traced.Any() && !has(k.tracing, p):
		t.Fatalf("process %+v has traced requests that nobody forgets", p.id)
	case p.runtime == (logs{}):
		t.Fatalf("process %+v is known and has no source", p.id)
	}
	for _, l := range p.id.Links() {
		if l.Kind != 0 && !p.target && !slices.Contains(k.index[l], p) {
			t.Fatalf("process %+v is not found by %+v", p.id, l)
		}
	}
}

// knownBytes returns what is counted of hosts and processes.
func knownBytes(a *Attributor) int {
	_, _, known, _ := a.budget.Sizes()
	return known
}
