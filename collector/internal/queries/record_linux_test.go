package queries

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/otelgc/otlp"
)

var record = flag.Bool("record", false, "make testdata for the SQL anew (needs root, and a .NET process)")

// TestRecord makes testdata: what a real Collector with the connector writes of
// all that the SQL joins. The test itself is a Go service with otelgc in it, in
// exact fidelity, which stops its world for statistics too; beside it runs a .NET
// process; a sidecar follows the threads of each, and for some of the time more
// programs want the CPUs. No machine loses all its CPUs on demand, and no test is to
// throttle its cgroup: those gaps are made up.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("testdata is as it is without -record")
	}
	s := newSite(t)
	dotnet := s.dotnet(t)
	sidecar := build(t, "../../..", "./sidecar")
	all := []*process{s.collector, dotnet.process}
	for name, pid := range map[string]int{"sidecar": os.Getpid(), "sidecar-dotnet": dotnet.cmd.Process.Pid} {
		all = append(all, start(t, s.env(name, "off"), sidecar, "run", "--mode", "periodic",
			"--threshold", "100ms", // gaps of a CPU are charged to nobody: the longest of each second will do
			"--target", fmt.Sprint(pid)))
	}
	for _, v := range append(s.env("orders", "off"), "OTELGC_EXACT_BUDGET=1") {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	_, shutdown, err := otlp.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a status of each source", func() error { return s.wrote("logs.jsonl", `"gotrace"`, `"dotnet"`, `"target"`) }, all...)

	var hogs []*process
	sent := 0
	for i := range 5 {
		switch i {
		case 1:
			for range runtime.NumCPU() {
				hogs = append(hogs, start(t, nil, "/bin/sh", "-c", "while :; do :; done"))
			}
		case 2:
			for _, h := range hogs {
				_ = h.cmd.Process.Kill()
			}
		}
		spans := work(8, dotnet)
		switch i {
		case 2:
			s.makeUp(t, spans[len(spans)/2], "host.irq", map[string]any{"otelgc.jitter.scope": "cpu", "cpu.logical_number": 0})
		case 3:
			s.makeUp(t, spans[len(spans)/2], "host.steal", map[string]any{"otelgc.jitter.scope": "machine"})
		case 4:
			s.makeUp(t, spans[len(spans)/2], "host.throttled", map[string]any{"otelgc.jitter.scope": "cgroup", "otelgc.cgroup.id": s.cgroup(t)})
		}
		sent += s.send(t, spans, dotnet.cmd.Process.Pid)
	}
	eventually(t, "all spans", func() error {
		if n := s.count("traces.jsonl", `"spanId"`); n < sent {
			return fmt.Errorf("%d of %d", n, sent)
		}
		return nil
	}, all...)
	if err := shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	s.keep(t)
}

// wrote reports whether a file of the Collector has each of some texts.
func (s *site) wrote(file string, texts ...string) error {
	for _, text := range texts {
		if s.count(file, text) == 0 {
			return fmt.Errorf("%s has no %s", file, text)
		}
	}
	return nil
}

func (s *site) count(file, text string) int {
	written, _ := os.ReadFile(filepath.Join(s.out, file)) // there is none at first
	return bytes.Count(written, []byte(text))
}

// keep makes testdata of what the Collector wrote.
func (s *site) keep(t *testing.T) {
	t.Helper()
	for _, name := range recordedFiles {
		text, err := os.ReadFile(filepath.Join(s.out, name))
		var small bytes.Buffer
		z := gzip.NewWriter(&small)
		if err == nil {
			_, err = z.Write(text)
		}
		if err = errors.Join(err, z.Close()); err == nil {
			err = os.WriteFile(filepath.Join("testdata", name+".gz"), small.Bytes(), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// garbage is what survives the collections.
var garbage [256][]byte

// work makes n spans of a service, with garbage in each, some with a stop of the
// world that is not for it, and has the .NET process do the same.
func work(n int, dotnet *dotnet) (spans []wallSpan) {
	var m runtime.MemStats
	for i := range n {
		from := time.Now()
		dotnet.ask(i)
		for k := range 400 {
			garbage[(i*7+k)%len(garbage)] = make([]byte, 16<<10)
		}
		if i%3 == 0 {
			runtime.ReadMemStats(&m)
		}
		time.Sleep(time.Duration(1+i%4*10) * time.Millisecond)
		spans = append(spans, wallSpan{from.UnixNano(), time.Now().UnixNano()})
	}
	return spans
}

type wallSpan struct{ start, end int64 }

// send sends spans as those of several services, which say in their own ways who
// they are. It returns how many.
func (s *site) send(t *testing.T, spans []wallSpan, dotnet int) (n int) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	self := os.Getpid()
	var all []any
	for service, who := range map[string]map[string]any{
		"orders":            {"otelgc.boot.id": bootID(t), "process.pid": self},
		"orders, no boot":   {"host.name": host, "process.pid": self},
		"of no process":     {"host.name": host},
		"invoices":          {"k8s.pod.uid": "pod-of-invoices", "k8s.container.name": "main"},
		"another container": {"k8s.pod.uid": "pod-of-invoices", "k8s.container.name": "helper", "otelgc.boot.id": bootID(t)},
		"pid alone":         {"otelgc.boot.id": bootID(t), "process.pid": dotnet},
		"unknown":           {"host.name": "elsewhere", "process.pid": self},
	} {
		// A process that tells of itself has one name, on its spans too.
		who["service.name"], _, _ = strings.Cut(service, ",")
		var list []any
		for i, w := range spans {
			list = append(list, map[string]any{
				"traceId": fmt.Sprintf("%032x", w.start), "spanId": fmt.Sprintf("%08x%08x", crc(service), uint32(w.start/1000)), "kind": 2,
				"name": fmt.Sprintf("request %d", i%4), "startTimeUnixNano": fmt.Sprint(w.start), "endTimeUnixNano": fmt.Sprint(w.end),
			})
		}
		n += len(list)
		all = append(all, map[string]any{"resource": map[string]any{"attributes": attributes(who)}, "scopeSpans": []any{map[string]any{"spans": list}}})
	}
	body, err := json.Marshal(map[string]any{"resourceSpans": all})
	if err == nil {
		err = s.post("traces", string(body))
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}
