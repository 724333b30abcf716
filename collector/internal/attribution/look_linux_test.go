package attribution

import (
	"fmt"
	"testing"
	"time"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/stall"
)

// waiting is an Attributor that knows 2,000 processes of 100 hosts, and holds
// 100,000 spans of theirs, each of which came alone.
func waiting() (*Attributor, *fleet) {
	const hosts, perHost, each = 100, 20, 50
	a, f := New(Config{MaxBytes: 1 << 30, MaxSpans: 1 << 20}), newFleet(hosts, perHost)
	f.tell(a, 10*time.Second)
	for _, s := range f.procs {
		for range each {
			a.Hold(s.span(f.at, f.at+ms), Sink{Take: ended}, start.Add(time.Hour))
		}
	}
	return a, f
}

// BenchmarkNewcomers is what a tick costs while 100,000 spans wait, five of which
// are in a second: alone, and with 1,000 new processes in that second.
func BenchmarkNewcomers(b *testing.B) {
	for name, newcomers := range map[string]int{"none": 0, "1000 a second": 200} {
		b.Run(name, func(b *testing.B) {
			a, f := waiting()
			pid, used := int64(1000), time.Duration(0)
			for b.Loop() {
				for i := range newcomers {
					s := newSender()
					pid++
					s.boot, s.pid = f.hosts[i%len(f.hosts)].boot, pid
					s.with = m{"host.name": fmt.Sprintf("node-%d.example.com", i%len(f.hosts)), "container.id": fmt.Sprint(pid)}
					a.Learn(s.status(stall.GCWatch, f.at))
				}
				before := cpuTime(b)
				a.Tick(start)
				used += cpuTime(b) - before
			}
			if spans, _ := a.Held(); spans != 100_000 {
				b.Fatalf("%d spans wait, want all", spans)
			}
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-us/tick")
			b.ReportMetric(5*float64(used)/float64(b.N)/float64(time.Second), "cores")
		})
	}
}

// BenchmarkLook is what one look costs at most: where as many as may be known go by
// the one name of the span.
func BenchmarkLook(b *testing.B) {
	const most = mostLinked
	for name, x := range map[string]struct {
		boot func(i int) string
		off  int64 // by which each host began later than the one before
		with func(i int) map[string]string
		span wire.Identity
	}{
		"boots of one machine": {
			func(i int) string { return fmt.Sprint("boot ", i) }, 200 * sec,
			func(int) map[string]string { return m{"host.name": "node", "host.id": "node"} },
			wire.Identity{HostID: "node", HostName: "node"},
		},
		"processes of one pid on boots of one machine": {
			func(i int) string { return fmt.Sprint("boot ", i) }, 200 * sec,
			func(int) map[string]string { return m{"host.name": "node", "host.id": "node"} },
			wire.Identity{HostID: "node", HostName: "node", PID: 42},
		},
		"processes of one pid": {
			func(int) string { return "boot" }, 0,
			func(i int) map[string]string {
				return m{"process.creation.time": start.Add(time.Duration(i) * time.Minute).Format(time.RFC3339Nano), "container.id": fmt.Sprint(i)}
			},
			wire.Identity{Boot: "boot", PID: 42, Created: "2006-11-21T11:00:00Z", Instance: "x"},
		},
	} {
		b.Run(name, func(b *testing.B) {
			a := New(Config{MaxBytes: 1 << 30, MaxHosts: most})
			for i := range most {
				s := newSender()
				s.boot, s.with, s.off = x.boot(i), x.with(i), s.off+int64(i)*x.off
				for _, source := range []stall.Origin{stall.GCWatch, stall.ProbeSpin} {
					a.Learn(s.status(source, 100*sec))
				}
			}
			longest := time.Duration(0)
			for b.Loop() {
				began := time.Now()
				a.known.find(&x.span)
				longest = max(longest, time.Since(began))
			}
			b.ReportMetric(float64(longest.Microseconds()), "most-us")
		})
	}
}
