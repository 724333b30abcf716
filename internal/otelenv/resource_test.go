package otelenv

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/semconv"
)

// machine writes the files of a machine.
func machine(t *testing.T, files map[string]string) detector {
	t.Helper()
	root := t.TempDir() + "/"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(root+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return detector{root: root}
}

const procStat = "cpu  1 2 3\nintr 5\nctxt 6\nbtime 1700000000\nprocesses 7\n"

func selfStat(startTime string) string {
	return "42 (a) b (c) S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 9 0 " + startTime + " 1234 99\n"
}

func TestDetect(t *testing.T) {
	d := machine(t, map[string]string{
		"etc/machine-id": "4bf92f3577b34da6a3ce929d0e0e4736\n",
		"proc/stat":      procStat,
		"proc/self/stat": selfStat("12345"),
	})
	r, err := d.Detect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[attribute.Key]string{
		semconv.AttrHostID:          "4bf92f3577b34da6a3ce929d0e0e4736",
		semconv.AttrProcessCreation: "2023-11-14T22:15:23.45Z",
		semconv.AttrRuntimeName:     runtimeName(),
	} {
		if got, _ := r.Set().Value(key); got.AsString() != want {
			t.Errorf("%s: got %q, want %q", key, got.AsString(), want)
		}
	}
	if got, _ := r.Set().Value(semconv.AttrProcessPID); got.AsInt64() != int64(os.Getpid()) {
		t.Errorf("process.pid: got %v, want %d", got, os.Getpid())
	}
}

// TestDetectNothing: what the machine does not tell is left out.
func TestDetectNothing(t *testing.T) {
	r, err := machine(t, nil).Detect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []attribute.Key{semconv.AttrHostID, semconv.AttrProcessCreation} {
		if got, ok := r.Set().Value(key); ok {
			t.Errorf("%s: got %v, want it absent", key, got)
		}
	}
}

// TestOther: nothing of this process gets into the telemetry of another.
func TestOther(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "the-sidecar")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=mine")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	const created = "2023-11-14T22:15:23.45Z"
	p, err := Start(t.Context(), Options{ServiceName: "x", Other: []attribute.KeyValue{
		attribute.String("service.name", "shop"), attribute.Int(semconv.AttrProcessPID, 7),
		attribute.String(semconv.AttrProcessCreation, created),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Discard()
	got := p.Resource.Set()
	for key, want := range map[attribute.Key]string{
		"service.name": "shop", semconv.AttrProcessPID: "7", semconv.AttrProcessCreation: created,
		"service.instance.id": "", semconv.AttrRuntimeName: "", "telemetry.sdk.language": "go",
	} {
		if v, _ := got.Value(key); v.String() != want {
			t.Errorf("%s: got %q, want %q", key, v.String(), want)
		}
	}
	if v, ok := got.Value(semconv.AttrBootID); !ok || v.AsString() == "" {
		t.Error("the host is not in the resource")
	}
}

// TestResourceAttributesThatAreWrong: the error names the variable that is to be
// corrected.
func TestResourceAttributesThatAreWrong(t *testing.T) {
	clearEnv(t)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=a,shop")
	_, err := newResource(t.Context(), Options{})
	if want := "read OTEL_RESOURCE_ATTRIBUTES: "; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "shop") {
		t.Errorf("got error %v, want one that begins with %q, and names shop", err, want)
	}
}
