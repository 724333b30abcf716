package target

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

func TestServiceName(t *testing.T) {
	full := dotnetipc.ProcessInfo{CommandLine: "/app/Shop --port 80", EntryAssembly: "Shop.Web"}
	for _, c := range []struct {
		env  map[string]string
		info dotnetipc.ProcessInfo
		want string
	}{
		{map[string]string{"OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other"}, full, "shop"},
		{map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "a=b, service.name=my%20shop"}, full, "my shop"},
		{nil, full, "Shop.Web"},
		{nil, dotnetipc.ProcessInfo{CommandLine: "/app/Shop --port 80"}, "Shop"},
		{nil, dotnetipc.ProcessInfo{}, "unknown_service:dotnet"},
	} {
		if got := serviceName(c.env, c.info); got != c.want {
			t.Errorf("service of %v, %+v: got %q, want %q", c.env, c.info, got, c.want)
		}
	}
}

// TestResource: a process says what it is called, and the kernel which one it is.
func TestResource(t *testing.T) {
	container := []attribute.KeyValue{attribute.String("container.id", "abc"), attribute.String("k8s.pod.uid", "found")}
	long := strings.Repeat("x", 5000)
	id := dotnetipc.Identity{PID: 4711, Created: 99}
	a, refused := resourceOf(id, "boot", container,
		map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "k8s.pod.uid=1-2,container.id=other,host.id=other,otelgc.boot.id=other,broken,=x,bad=%zz,process.pid=9,team=red,long=" + long},
		dotnetipc.ProcessInfo{PID: 1, Version: "10.0.9", EntryAssembly: "shop"}, dotnetRuntime)
	got := map[attribute.Key]string{}
	for _, kv := range a {
		got[kv.Key] = kv.Value.String()
	}
	delete(got, "process.creation.time") // of this boot
	want := map[attribute.Key]string{
		"container.id": "abc", "k8s.pod.uid": "found", "service.name": "shop", "team": "red", "process.pid": "1",
		"process.runtime.name": ".NET", "process.runtime.version": "10.0.9", "service.instance.id": "9c27d54b-a775-5c68-8a2f-3ed44cc81c8c",
		"otelgc.instance.source": "sidecar",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"k8s.pod.uid", "container.id", "host.id", "otelgc.boot.id", "process.pid"}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	// Of a container in the sidecar's own pod the cgroup does not tell the pod.
	a, refused = resourceOf(id, "boot", container[:1], map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "k8s.pod.uid=1-2"}, dotnetipc.ProcessInfo{}, dotnetRuntime)
	if set := attribute.NewSet(a...); len(refused) > 0 || !set.HasValue("k8s.pod.uid") {
		t.Errorf("resource of a process whose pod nobody else tells: %v, refused %v", a, refused)
	}
	// On the host itself there is no container, whatever the process says.
	a, _ = resourceOf(id, "boot", nil, map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "container.id=other"}, dotnetipc.ProcessInfo{}, dotnetRuntime)
	if set := attribute.NewSet(a...); set.HasValue("container.id") {
		t.Errorf("resource of a process without a container: %v", a)
	}
}

// TestInstanceID: each run of a process has one of its own, unless it says which.
func TestInstanceID(t *testing.T) {
	a := dotnetipc.Identity{PID: 4711, Created: 99}
	seen := map[string]string{}
	for name, x := range map[string]struct {
		boot string
		id   dotnetipc.Identity
		info dotnetipc.ProcessInfo
	}{
		"one":                  {"boot", a, dotnetipc.ProcessInfo{}},
		"of another boot":      {"other", a, dotnetipc.ProcessInfo{}},
		"of another number":    {"boot", dotnetipc.Identity{PID: 4712, Created: 99}, dotnetipc.ProcessInfo{}},
		"later":                {"boot", dotnetipc.Identity{PID: 4711, Created: 100}, dotnetipc.ProcessInfo{}},
		"not visible":          {"boot", dotnetipc.Identity{}, dotnetipc.ProcessInfo{Cookie: dotnetipc.Cookie{1}}},
		"another, not visible": {"boot", dotnetipc.Identity{}, dotnetipc.ProcessInfo{Cookie: dotnetipc.Cookie{2}}},
	} {
		got := instanceID(x.boot, x.id, x.info)
		if other, known := seen[got]; known {
			t.Errorf("%s: service.instance.id %s is that of %s", name, got, other)
		}
		if seen[got] = name; got != instanceID(x.boot, x.id, x.info) {
			t.Errorf("%s: service.instance.id changes", name)
		}
	}
	r, _ := resourceOf(a, "boot", nil, map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=mine"}, dotnetipc.ProcessInfo{}, dotnetRuntime)
	set := attribute.NewSet(r...)
	if set.HasValue("otelgc.instance.source") {
		t.Error("the sidecar says that it made up the service.instance.id that the process chose")
	}
	if v, _ := set.Value("service.instance.id"); v.AsString() != "mine" {
		t.Errorf("service.instance.id %q, want what the process says", v.AsString())
	}
}

// TestContainerAttributes: what the cgroup of a process says, and nothing where
// it says nothing or cannot be read.
func TestContainerAttributes(t *testing.T) {
	const (
		id  = "7be92808767a667f35c8505cbf40d14e931ef6db5b0210329cf193b15ba9d605"
		pod = "2c48913c-b29f-11e7-9350-020968147796"
	)
	root := t.TempDir()
	for pid, text := range map[int]string{
		1: "0::/kubepods/burstable/pod" + pod + "/" + id + "\n", 2: "0::/docker/" + id + "\n", 3: "0::/system.slice/shop.service\n",
	} {
		fakeProcess(t, root, pid, "shop", "shop")
		if err := os.WriteFile(filepath.Join(root, strconv.Itoa(pid), "cgroup"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int]string{1: "container.id=" + id + ",k8s.pod.uid=" + pod, 2: "container.id=" + id, 3: "", 4: "", 0: ""} {
		set := attribute.NewSet(containerAttributes(dotnetipc.Proc{Root: root}, dotnetipc.Identity{PID: pid})...)
		if got := set.Encoded(attribute.DefaultEncoder()); got != want {
			t.Errorf("process %d: got %q, want %q", pid, got, want)
		}
	}
}

// TestClaims: what the kernel says, too, is no claim; what OTLP cannot carry, or
// goes over a limit, does not stop the telemetry of the process.
func TestClaims(t *testing.T) {
	container := []attribute.KeyValue{attribute.String("container.id", "abc")}
	id := dotnetipc.Identity{PID: 4711, Created: 99}
	_, refused := resourceOf(id, "boot", container,
		map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "container.id=abc,process.pid=1,otelgc.boot.id=boot,process.runtime.name=.NET,process.pid=2"},
		dotnetipc.ProcessInfo{PID: 1}, dotnetRuntime)
	if diff := cmp.Diff([]string{"process.pid"}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	long := strings.Repeat("x", 4000)
	claims := "bad=%ff,worse\xff=1,broken," + strings.Repeat("k", maxKey+1) + "=1"
	for i := range 100 {
		claims += fmt.Sprintf(",otelgc.%d=%s", i, long)
	}
	env := map[string]string{"OTEL_RESOURCE_ATTRIBUTES": claims, "OTEL_SERVICE_NAME": "sh\xffop"}
	a, refused := resourceOf(id, "boot", nil, env, dotnetipc.ProcessInfo{Version: long + long}, dotnetRuntime)
	bytes := 0
	for _, kv := range a {
		if !utf8.ValidString(string(kv.Key)) || !utf8.ValidString(kv.Value.String()) {
			t.Errorf("%q is no UTF-8, which no exporter sends", kv)
		}
		bytes += len(kv.Key) + len(kv.Value.String())
	}
	for _, name := range refused {
		bytes += len(name)
	}
	if bytes > 2*maxAttributeBytes {
		t.Errorf("a process says %d bytes of itself", bytes)
	}
	log := &strings.Builder{}
	(&process{log: slog.New(slog.NewTextHandler(log, nil))}).sayClaims(env, slices.Repeat([]string{strings.Repeat("k", maxKey)}, maxAttributes))
	if n := len(log.String()); n > 8*maxKey+1024 || !strings.Contains(log.String(), "in_all=64") || !strings.Contains(log.String(), "left_out=98") {
		t.Errorf("the log has %d bytes:\n%.2000s", n, log)
	}
}
