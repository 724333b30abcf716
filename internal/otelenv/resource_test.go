package otelenv

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/semconv"
)

// TestDetect: all that a system tells, and nothing empty.
func TestDetect(t *testing.T) {
	r, err := Detector().Detect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{semconv.AttrHostName, semconv.AttrProcessPID, semconv.AttrRuntimeName, semconv.AttrRuntimeVersion}
	if runtime.GOOS == "linux" {
		want = append(want, semconv.AttrBootID, semconv.AttrProcessCreation)
	}
	for _, key := range want {
		if _, ok := r.Set().Value(attribute.Key(key)); !ok {
			t.Errorf("no %s in %v", key, r)
		}
	}
	if pid, _ := r.Set().Value(semconv.AttrProcessPID); pid.AsInt64() != int64(os.Getpid()) {
		t.Errorf("process.pid: got %v, want %d", pid, os.Getpid())
	}
	for _, kv := range r.Attributes() {
		if kv.Value.String() == "" {
			t.Errorf("%s is empty", kv.Key)
		}
	}
	if r.SchemaURL() != "" {
		t.Errorf("schema %s: it would not merge with another", r.SchemaURL())
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
