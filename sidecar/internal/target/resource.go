package target

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/stall"
)

// Names and values of the semantic conventions.
const (
	attrServiceName = "service.name"
	attrContainerID = "container.id"
	attrPodUID      = "k8s.pod.uid"
	runtimeName     = ".NET" // process.runtime.name
)

// serviceName is what the process's own telemetry calls it: by its environment,
// else its entry assembly, else its program.
func serviceName(env map[string]string, info dotnetipc.ProcessInfo) string {
	if name := strings.TrimSpace(env["OTEL_SERVICE_NAME"]); name != "" && len(name) <= maxValue {
		return name
	}
	for _, kv := range environmentAttributes(env) {
		if kv.Key == attrServiceName {
			return kv.Value.AsString()
		}
	}
	if info.EntryAssembly != "" {
		return info.EntryAssembly
	}
	program, _, _ := strings.Cut(info.CommandLine, " ")
	if name := filepath.Base(program); program != "" {
		return name
	}
	return "unknown_service:dotnet"
}

// maxAttributes and maxValue bound what a process may say of itself: it goes out
// with every export.
const (
	maxAttributes = 64
	maxValue      = 4096
)

// environmentAttributes reads OTEL_RESOURCE_ATTRIBUTES of a process: pairs of
// key=value between commas, the values percent-encoded (specification, resource
// SDK). What is not that is left out.
func environmentAttributes(env map[string]string) []attribute.KeyValue {
	var all []attribute.KeyValue
	for pair := range strings.SplitSeq(env["OTEL_RESOURCE_ATTRIBUTES"], ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" || len(all) == maxAttributes || len(key)+len(value) > maxValue {
			continue
		}
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			continue
		}
		all = append(all, attribute.String(key, text))
	}
	return all
}

// containerAttributes names the container that a process runs in, and its pod:
// by them its spans are found, as the pids of containers all count from 1. What
// cannot be told is left out.
func containerAttributes(proc dotnetipc.Proc, id dotnetipc.Identity) (a []attribute.KeyValue) {
	if id.PID == 0 {
		return nil
	}
	text, err := proc.Cgroup(id.PID)
	if err != nil {
		return nil
	}
	c := cgroup.ContainerOf(text)
	if c.ID != "" {
		a = append(a, attribute.String(attrContainerID, c.ID))
	}
	if c.Pod != "" {
		a = append(a, attribute.String(attrPodUID, c.Pod))
	}
	return a
}

// resourceOf returns the attributes of a process, as its own telemetry would
// have them: its number is the one that it has for itself, and what it says of
// its container goes before what is found.
func resourceOf(id dotnetipc.Identity, container []attribute.KeyValue, env map[string]string, info dotnetipc.ProcessInfo) []attribute.KeyValue {
	a := append(slices.Clone(container), environmentAttributes(env)...)
	a = append(a,
		attribute.String(attrServiceName, serviceName(env, info)),
		attribute.Int64(stall.AttrProcessPID, int64(info.PID)),
		attribute.String(stall.AttrRuntimeName, runtimeName))
	if info.Version != "" {
		a = append(a, attribute.String(stall.AttrRuntimeVersion, info.Version))
	}
	if id.Created != 0 {
		if made, err := otelenv.CreationTime(id.Created); err == nil {
			a = append(a, attribute.String(stall.AttrProcessCreation, made))
		}
	}
	return a
}
