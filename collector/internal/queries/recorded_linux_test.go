package queries

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

func crc(text string) uint32 { return crc32.ChecksumIEEE([]byte(text)) }

func bootID(t *testing.T) string {
	t.Helper()
	id, err := stall.BootID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// makeUp tells, as a probe would, of a gap of half of a span.
func (s *site) makeUp(t *testing.T, w wallSpan, cause string, whose map[string]any) {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	now, wall := clock.Now(), time.Now().UnixNano()
	quarter := (w.end - w.start) / 4
	at := func(ns int64) int { return int(int64(now) - (wall - ns)) }
	a := map[string]any{
		"otelgc.boot.id": bootID(t), "process.pid": 1 << 22, "otelgc.source": "probe.spin", "otelgc.cause": cause, "otelgc.jitter.mode": "spin",
		"otelgc.slack": 200, "otelgc.start": at(w.start + quarter), "otelgc.end": at(w.end - quarter),
	}
	maps.Copy(a, whose)
	body, err := json.Marshal(map[string]any{"resourceLogs": []any{map[string]any{
		"resource": map[string]any{"attributes": attributes(map[string]any{"service.name": "made up"})},
		"scopeLogs": []any{map[string]any{"logRecords": []any{map[string]any{
			"eventName": "otelgc.jitter.gap", "timeUnixNano": fmt.Sprint(w.start + quarter), "attributes": attributes(a),
		}}}},
	}}})
	if err == nil {
		err = s.post("logs", string(body))
	}
	if err != nil {
		t.Fatal(err)
	}
}

var cgroupIDs = regexp.MustCompile(`"otelgc.cgroup.ids","value":\{"arrayValue":\{"values":\[\{"intValue":"(\d+)"`)

// cgroup returns one that a service has told that it is in.
func (s *site) cgroup(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.out, "logs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	m := cgroupIDs.FindSubmatch(text)
	if m == nil {
		t.Fatal("no status says a cgroup")
	}
	id, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// dotnet is a .NET process with collections that come often.
type dotnet struct {
	*process
	in io.Writer
}

func (s *site) dotnet(t *testing.T) *dotnet {
	t.Helper()
	path := os.Getenv("OTELGC_AZMCP")
	if path == "" {
		path = "../../../.cache/npm/node_modules/@azure/mcp-linux-x64/dist/azmcp"
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no .NET process: %v (mend: .ci/run npm, or set OTELGC_AZMCP)", err)
	}
	dir, err := os.MkdirTemp("", "dn") // short: the path of a socket has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pipe := dir + "/in"
	env := []string{
		"OTEL_SERVICE_NAME=invoices", "OTEL_RESOURCE_ATTRIBUTES=k8s.pod.uid=pod-of-invoices,k8s.container.name=main",
		"DOTNET_GCgen0size=80000", "TMPDIR=" + dir, "HOME=" + dir, "AZURE_MCP_COLLECT_TELEMETRY=false",
	}
	p := start(t, env, "/bin/sh", "-c", `mkfifo "$1" && exec "$0" server start <"$1"`, path, pipe)
	var in *os.File
	eventually(t, "the .NET process", func() (err error) { in, err = os.OpenFile(pipe, os.O_WRONLY, 0); return err }, p)
	t.Cleanup(func() { _ = in.Close() })
	d := &dotnet{p, in}
	d.say(`"id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"queries","version":"1"}}`)
	d.say(`"method":"notifications/initialized"`)
	eventually(t, "its socket", func() error {
		if found, _ := filepath.Glob(filepath.Join(dir, "dotnet-diagnostic-*")); len(found) == 0 {
			return errors.New("it is not there")
		}
		return nil
	}, p)
	return d
}

// ask has it do something.
func (d *dotnet) ask(n int) {
	d.say(fmt.Sprintf(`"id":%d,"method":"tools/list","params":{}`, n+1))
}

func (d *dotnet) say(message string) {
	_, _ = fmt.Fprintf(d.in, `{"jsonrpc":"2.0",%s}`+"\n", message) // what it does shows in its collections
}
