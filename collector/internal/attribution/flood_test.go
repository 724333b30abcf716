package attribution

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

var flood = flag.Int("flood", 3_000, "events of each flood")

// TestFlood: whatever is sent in whatever number, one process that was known
// before stays known, no memory is taken beyond the limit, and what is not kept
// is counted.
func TestFlood(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	anyone := func() *sender {
		s := newSender()
		s.boot = fmt.Sprintf("%036d", random.Uint64())
		return s
	}
	for name, next := range map[string]func(i int64) plog.Logs{
		"boot ids": func(i int64) plog.Logs { return anyone().status(stall.GCWatch, 200*sec) },
		"probes": func(i int64) plog.Logs {
			s := anyone()
			s.with = m{"host.name": s.boot, "host.id": s.boot}
			return s.gap(stall.ProbeSpin, stall.HostIRQ, stall.ScopeCPU, sec, 2*sec)
		},
		"processes of one boot": func(i int64) plog.Logs {
			s := newSender()
			s.boot, s.pid = "another", i%(1<<20)+1
			return s.status(stall.GCWatch, 200*sec)
		},
		"one pid in many containers": func(i int64) plog.Logs {
			s := newSender()
			s.boot, s.with = "another", m{"container.id": fmt.Sprint(i)}
			return s.status(stall.GCWatch, 200*sec)
		},
		"targets": func(i int64) plog.Logs {
			s := newSender()
			s.boot, s.pid = "another", i%(1<<20)+1
			return s.gap(stall.TargetWatch, stall.HostPreempted, stall.ScopeTarget, 200*sec, 201*sec)
		},
		"times": func(i int64) plog.Logs {
			s := newSender()
			s.boot = "another"
			at := func() int64 {
				return []int64{-1, 0, 1, random.Int64(), random.Int64N(400 * sec), int64(semconv.MaxInstant), 1 << 62, -1 << 63}[random.IntN(8)]
			}
			if i%2 == 0 {
				return s.collection(stall.GCWatch, at(), at(), at(), at())
			}
			ld := s.status(stall.GCWatch, at())
			a := attributes(ld)
			for _, k := range []string{semconv.AttrStart, semconv.AttrWatermark, semconv.AttrWallOffset, semconv.AttrWallError}[random.IntN(5):] {
				a.PutInt(k, at())
			}
			return ld
		},
		"stalls on top of each other": func(i int64) plog.Logs {
			s := newSender()
			s.boot = "another"
			return s.collection(stall.GCWatch, i, 200*sec-i, 200*sec+int64(time.Hour)/2, int64(semconv.MaxSlack))
		},
		"lists": func(i int64) plog.Logs {
			s := newSender()
			s.boot = "another"
			ld := s.collection(stall.GCWatch, i, 200*sec, 201*sec, 0)
			for _, k := range []string{semconv.AttrPauseStart, semconv.AttrPauseEnd} {
				list := attributes(ld).PutEmptySlice(k)
				for n := range semconv.MaxListed {
					list.AppendEmpty().SetInt(200*sec + i*sec + int64(n*32-len(k)))
				}
			}
			return ld
		},
		"statuses that do not follow": func(i int64) plog.Logs {
			ld := anyone().status(stall.GCWatch, 200*sec+i*ms)
			a := attributes(ld)
			a.PutStr(semconv.AttrBootID, fmt.Sprint("another", i%8))
			a.PutInt(semconv.AttrStart, 200*sec+i*ms-1)
			for _, k := range []string{semconv.AttrUnseenStart, semconv.AttrUnseenEnd} {
				list := a.PutEmptySlice(k)
				for n := range int64(semconv.MaxListed) {
					list.AppendEmpty().SetInt(100*sec + n*2 + int64(len(k)%2))
				}
			}
			return ld
		},
		"types": func(i int64) plog.Logs {
			s := newSender()
			s.boot = "another"
			ld := s.status(stall.GCWatch, 200*sec)
			for _, v := range attributes(ld).All() {
				if random.IntN(4) == 0 {
					odd(v, random.IntN(6))
				}
			}
			return ld
		},
	} {
		t.Run(name, func(t *testing.T) {
			const limit = 16 << 20
			before := heap()
			a, c, s := New(Config{MaxBytes: limit}), new(catcher), newSender()
			began, learned, now := time.Now(), time.Duration(0), 100*sec
			for i := range int64(*flood) {
				if i%10_000 == 0 { // time passes, and the process goes on telling
					now = 100*sec + int64(time.Since(began))
					a.Tick(start.Add(time.Since(began)))
					a.Learn(s.status(stall.GCWatch, now))
				}
				ld := next(i)
				at := time.Now()
				a.Learn(ld)
				learned += time.Since(at)
			}
			took := heap() - before
			lost := a.Lost()
			t.Logf("%v an event, %d kB on the heap, %d kB counted, %d hosts, %d processes, lost %+v",
				learned/time.Duration(*flood), took>>10, a.Known()>>10, len(a.known.hosts), a.known.processes, lost)
			if took > limit/budget.MostKnown+limit/8 || a.Known() > limit/budget.MostKnown {
				t.Errorf("%d bytes on the heap, %d counted, the limit of what is known is %d", took, a.Known(), limit/budget.MostKnown)
			}
			a.Learn(s.collection(stall.GCWatch, 1, now+12*ms, now+15*ms, 0))
			a.Learn(s.status(stall.GCWatch, now+sec))
			a.Hold(s.span(now+10*ms, now+20*ms), c.sink(), start)
			a.Flush()
			if got := floats(c.spans[0].Attributes()); got["otelgc.stall.gc.pause"] != 3e-3 || got["otelgc.stall.coverage"] != 1 {
				t.Errorf("the process that was known before: got %v, want gc.pause of 3 ms and coverage 1", got)
			}
		})
	}
}

// odd makes v a value of another type.
func odd(v pcommon.Value, kind int) {
	switch kind {
	case 0:
		v.SetEmptyMap().PutStr("x", "y")
	case 1:
		v.SetEmptySlice().AppendEmpty().SetInt(1)
	case 2:
		v.SetEmptyBytes().Append(1, 2)
	case 3:
		v.SetDouble(1e308)
	case 4:
		v.SetBool(true)
	case 5:
		v.SetStr("7")
	}
}
