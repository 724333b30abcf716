package target

import (
	"net/url"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/stall"
)

const (
	attrServiceName = "service.name"
	runtimeName     = ".NET" // process.runtime.name by the semantic conventions
)

// serviceName is what the process's own telemetry calls it: by its environment,
// else its entry assembly, else its program.
func serviceName(env map[string]string, info dotnetipc.ProcessInfo) string {
	if name := strings.TrimSpace(env["OTEL_SERVICE_NAME"]); name != "" {
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

// maxAttributes bounds the attributes that a process may give itself.
const maxAttributes = 64

// environmentAttributes reads OTEL_RESOURCE_ATTRIBUTES of a process: pairs of
// key=value between commas, the values percent-encoded (specification, resource
// SDK). What is not that is left out.
func environmentAttributes(env map[string]string) []attribute.KeyValue {
	var all []attribute.KeyValue
	for pair := range strings.SplitSeq(env["OTEL_RESOURCE_ATTRIBUTES"], ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" || len(all) == maxAttributes {
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

// resourceOf returns the attributes of a process, as its own telemetry would
// have them: its number is the one that it has for itself.
func resourceOf(id dotnetipc.Identity, env map[string]string, info dotnetipc.ProcessInfo) []attribute.KeyValue {
	a := append(environmentAttributes(env),
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
