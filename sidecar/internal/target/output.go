package target

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// The instrumentation scopes of what is exported for a process.
const (
	dotnetScope = "github.com/otelgc/otelgc/sidecar/dotnet"
	goScope     = "github.com/otelgc/otelgc/sidecar/go"
)

// output exports the telemetry of one process.
type output struct {
	telemetry *telemetry.Telemetry
	providers *otelenv.Providers
	pid       int
}

// open makes the providers of the process before its first session, if there are none,
// and returns the variables of its environment that name it. Info is what is known of its program.
func (p *process) open(ctx context.Context, info dotnetipc.ProcessInfo) (map[string]string, error) {
	var env map[string]string
	if p.ID.PID != 0 {
		var err error
		if env, err = p.proc.Environment(ctx, p.ID.PID); err != nil {
			p.log.Info("the environment of the process is not readable: its service.name is a guess", "error", err)
		}
	}
	if inner, err := p.proc.InnerPID(p.ID.PID); p.ID.PID != 0 && err == nil && info.PID != uint64(inner) {
		if !p.outside.goes {
			p.log.Warn("the process says that it has another number than the kernel says", "says", info.PID, "kernel", inner)
		}
		info.PID = uint64(inner)
	}
	p.summary.Service, p.summary.CommandLine, p.summary.Runtime = serviceName(env, info), info.CommandLine, info.Version
	p.summary.Source = p.origin().String()
	boot, err := stall.BootID()
	if err != nil {
		boot = ""
	}
	scope, runtime := dotnetScope, dotnetRuntime
	if p.outside.goes {
		scope, runtime = goScope, goRuntime
	}
	resource, refused := resourceOf(p.ID, boot, containerAttributes(p.proc, p.ID), env, info, runtime)
	p.sayClaims(env, refused)
	providers, err := otelenv.Start(ctx, otelenv.Options{Other: resource, LogQueue: logQueue, UniqueKeys: true})
	if err != nil {
		return env, fmt.Errorf("start export for process %d: %w", p.ID.PID, err)
	}
	o := telemetry.Options{BootID: boot, PID: int(info.PID), DotnetMetrics: !p.outside.goes, Tasks: true, Clock: p.Clock}
	if !p.golang.links {
		o.Meter, o.Logger = providers.Meter.Meter(scope), providers.Logger.Logger(scope)
	}
	t, err := telemetry.New(o)
	if err != nil {
		providers.Discard()
		return env, fmt.Errorf("make instruments for process %d: %w", p.ID.PID, err)
	}
	p.output = &output{t, providers, p.ID.PID}
	p.watchHost(p.followed)
	return env, nil
}

// closeOutput ends the telemetry of the process, if there is any.
func (p *process) closeOutput() {
	if p.output == nil {
		return
	}
	p.host.stop()
	p.host = host{}
	if p.summary.Unexported = p.output.close(); p.summary.Unexported != nil {
		p.log.Warn("not all telemetry was exported", p.summary.Unexported.Facts()...)
	}
	p.output = nil
}

func (o *output) collection(c *gc.Collection) { o.telemetry.Collection(c) }

// dropped counts what was lost of an item.
func (o *output) dropped(item, why string, n uint64) { o.telemetry.Dropped(item, why, n) }

// overLimit counts what a stream had too many of: records of the model, threads
// whose numbers of events were forgotten, sessions that took more than their share.
func (o *output) overLimit(item string, n uint64) { o.telemetry.Dropped(item, "limit", n) }

const (
	itemRecord  = "dotnet_record"
	itemThread  = "dotnet_thread"
	itemSession = "dotnet_session"
)

func (o *output) status(origin stall.Origin, since, now, mark stall.Instant, unseen []stall.Span, covered float64, s *Summary) {
	o.telemetry.Coverage(origin, covered)
	if share, known := s.pauseShare(); known {
		o.telemetry.PauseUtilization("attach", share)
	}
	o.telemetry.Tick(now)
	o.telemetry.Status(semconv.Status{
		Origin: origin, Since: since, At: now, Watermark: mark, Unseen: unseen,
		Dropped: s.Lost, TargetPID: o.pid,
	})
}

// close exports what is held, and returns what did not get out, nil for nothing. The
// observed metrics go first: their callbacks do not outlive the telemetry.
func (o *output) close() *otelenv.Unexported {
	ctx, cancel := context.WithTimeout(context.Background(), stopFor)
	defer cancel()
	early, done := context.WithTimeout(ctx, stopFor/2)
	defer done()
	flushed := o.providers.Meter.ForceFlush(early)
	err := otelenv.Join(flushed, o.telemetry.Close(), o.providers.Shutdown(ctx))
	if errors.Is(err, context.Canceled) {
		err = nil // it was told to end at once
	}
	return o.providers.Unexported(err)
}

// Names and values of the semantic conventions.
const (
	attrServiceName = "service.name"
	attrContainerID = "container.id"
	attrPodUID      = "k8s.pod.uid"
	attrInstanceID  = "service.instance.id"

	// Of process.runtime.name.
	dotnetRuntime = ".NET"
	goRuntime     = "go"
)

// serviceName is what the process's own telemetry calls it: by its environment,
// else its entry assembly, else its program.
func serviceName(env map[string]string, info dotnetipc.ProcessInfo) string {
	if name := clean(strings.TrimSpace(env["OTEL_SERVICE_NAME"])); name != "" && len(name) <= maxValue {
		return name
	}
	claims, _ := environmentAttributes(env)
	for _, kv := range claims {
		if kv.Key == attrServiceName {
			return kv.Value.AsString()
		}
	}
	if name := clean(info.EntryAssembly); name != "" && len(name) <= maxValue {
		return name
	}
	program, _, _ := strings.Cut(info.CommandLine, " ")
	if name := clean(filepath.Base(program)); program != "" && len(name) <= maxValue {
		return name
	}
	return "unknown_service:dotnet"
}

// These bound what a process may say of itself: it goes out with every export.
const (
	maxAttributes     = 64
	maxKey            = 256
	maxValue          = 4096     // of one key and its value, as they are written
	maxAttributeBytes = 16 << 10 // of all
	maxNamed          = 8        // attributes that a line of the log names
)

// clean returns s as OTLP can carry it: an export with any other text fails as a
// whole.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// environmentAttributes reads OTEL_RESOURCE_ATTRIBUTES of a process: pairs of
// key=value between commas, the values percent-encoded (specification, resource
// SDK). It returns how many it left out: what is no such pair, or over a limit.
func environmentAttributes(env map[string]string) (all []attribute.KeyValue, left int) {
	bytes := 0
	for pair := range strings.SplitSeq(env["OTEL_RESOURCE_ATTRIBUTES"], ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = clean(strings.TrimSpace(key))
		text, err := url.PathUnescape(strings.TrimSpace(value))
		text = clean(text)
		n := len(key) + len(text)
		if !ok || err != nil || key == "" || len(all) == maxAttributes || len(key) > maxKey || n > maxValue || bytes+n > maxAttributeBytes {
			left++
			continue
		}
		bytes += n
		all = append(all, attribute.String(key, text))
	}
	return all, left
}

// containerAttributes names the container that a process runs in, and its pod:
// by them its spans are found, as the pids of containers all count from 1. What
// is not known is left out.
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
// have them, and the names of those that it claims and may not choose. Its
// number is the one that it has for itself.
//
// A process chooses what it is called and which of its kind it is: service.name,
// service.instance.id, and all that [identifies] does not name, but for its pod where
// [podUnknown]. A claim that says what the kernel says is none.
func resourceOf(id dotnetipc.Identity, boot string, container []attribute.KeyValue, env map[string]string, info dotnetipc.ProcessInfo, runtime string) (a []attribute.KeyValue, refused []string) {
	seen := append(slices.Clone(container),
		attribute.Int64(semconv.AttrProcessPID, int64(info.PID)),
		attribute.String(semconv.AttrRuntimeName, runtime))
	if v := clean(info.Version); v != "" && len(v) <= maxValue {
		seen = append(seen, attribute.String(semconv.AttrRuntimeVersion, v))
	}
	if id.Created != 0 {
		if made, err := otelenv.CreationTime(id.Created); err == nil {
			seen = append(seen, attribute.String(semconv.AttrProcessCreation, made))
		}
	}
	claims, _ := environmentAttributes(env)
	if !slices.ContainsFunc(claims, func(kv attribute.KeyValue) bool { return kv.Key == attrInstanceID }) {
		a = append(a, attribute.String(attrInstanceID, instanceID(boot, id, info)),
			attribute.String(semconv.AttrInstanceSource, semconv.StampSidecar)) // no span of the process has it
	}
	for _, claim := range claims {
		if !identifies(string(claim.Key)) || claim.Key == attrPodUID && podUnknown(container) {
			a = append(a, claim)
			continue
		}
		same := func(kv attribute.KeyValue) bool {
			return kv.Key == claim.Key && kv.Value.String() == claim.Value.AsString()
		}
		if !slices.ContainsFunc(seen, same) && (claim.Key != semconv.AttrBootID || claim.Value.AsString() != boot) {
			refused = append(refused, string(claim.Key))
		}
	}
	a = append(a, seen...)
	return append(a, attribute.String(attrServiceName, serviceName(env, info))), refused
}

// sayClaims says once what of a process's OTEL_RESOURCE_ATTRIBUTES is left out.
func (p *process) sayClaims(env map[string]string, refused []string) {
	if n := len(refused); n > 0 {
		p.log.Warn("OTEL_RESOURCE_ATTRIBUTES of the process are ignored where they say which process it is: the kernel says that",
			"ignored", refused[:min(n, maxNamed)], "in_all", n)
	}
	if _, left := environmentAttributes(env); left > 0 {
		p.log.Warn("OTEL_RESOURCE_ATTRIBUTES of the process are left out where they are not key=value, or too long or too many",
			"left_out", left, "at_most", maxAttributes)
	}
}

// podUnknown reports whether a process is in a container of which the kernel does not
// tell the pod, as of those in the sidecar's own pod: then only the process can say it.
func podUnknown(container []attribute.KeyValue) bool {
	return len(container) == 1 && container[0].Key == attrContainerID
}

// identifies reports whether an attribute says which process of which machine
// its telemetry is of. The kernel decides that: a process that chose it could
// pass its stops off as another's.
func identifies(key string) bool {
	switch key {
	case attrContainerID, attrPodUID, semconv.AttrHostID:
		return true
	}
	for _, prefix := range []string{"otelgc.", "process.", "telemetry."} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// instanceNamespace is what UUIDs of service.instance.id are made in, by the
// semantic conventions of OpenTelemetry.
var instanceNamespace = [16]byte{0x4d, 0x63, 0x00, 0x9a, 0x8d, 0x0f, 0x11, 0xee, 0xaa, 0xd7, 0x4c, 0x79, 0x6e, 0xd8, 0xe3, 0x20}

// instanceID returns a service.instance.id that distinguishes a run of a process from
// all others, the same for each sidecar that watches it: a UUID of version 5
// (RFC 9562) of the boot, the number and the creation time of the process, or of
// the runtime's own cookie where these cannot be seen.
func instanceID(boot string, id dotnetipc.Identity, info dotnetipc.ProcessInfo) string {
	name := fmt.Sprintf("%s/%d/%d", boot, id.PID, id.Created)
	if id.Created == 0 {
		name = fmt.Sprintf("%x", info.Cookie)
	}
	sum := sha1.Sum(append(instanceNamespace[:], name...))
	u := sum[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
