package otelenv

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	otelsemconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// newResource detects the resource; what comes later overrides what came
// before.
func newResource(ctx context.Context, o Options) (*resource.Resource, error) {
	if o.Other != nil {
		return otherResource(ctx, o.Other)
	}
	var own []attribute.KeyValue
	if o.ServiceName != "" {
		own = append(own, otelsemconv.ServiceName(o.ServiceName))
	}
	r, err := resource.New(ctx,
		resource.WithService(),
		resource.WithTelemetrySDK(),
		resource.WithDetectors(Detector()),
		resource.WithAttributes(append(own, o.Resource...)...),
		resource.WithFromEnv(),
	)
	switch _, wrong := resource.New(ctx, resource.WithFromEnv()); {
	case wrong != nil: // the SDK says what of it, and not whose it is
		return nil, oneLine(fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w: want name=value,name=value", wrong))
	case err != nil:
		return nil, oneLine(fmt.Errorf("detect resource: %w", err))
	}
	return r, nil
}

func otherResource(ctx context.Context, other []attribute.KeyValue) (*resource.Resource, error) {
	r, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(detector{root: "/"}.host()...),
		resource.WithAttributes(other...),
	)
	if err != nil {
		return nil, oneLine(fmt.Errorf("make resource: %w", err))
	}
	return r, nil
}

// Detector returns a detector of what places a process on the shared clock:
// otelgc.boot.id, host.id, host.name, process.pid, process.creation.time
// (RFC 3339), process.runtime.name and process.runtime.version. What this
// system does not tell is left out.
func Detector() resource.Detector { return detector{root: "/"} }

// detector reads the files of a machine under root, with a slash at its end.
type detector struct{ root string }

func (d detector) Detect(context.Context) (*resource.Resource, error) {
	a := append(d.host(),
		attribute.Int(semconv.AttrProcessPID, os.Getpid()),
		attribute.String(semconv.AttrRuntimeName, runtimeName()),
		attribute.String(semconv.AttrRuntimeVersion, runtime.Version()),
	)
	if ticks, err := proc.StartTicks(os.DirFS(d.root), "self"); err == nil {
		if created, err := creationTime(os.DirFS(d.root), ticks); err == nil {
			a = append(a, attribute.String(semconv.AttrProcessCreation, created))
		}
	}
	return resource.NewSchemaless(a...), nil
}

// host returns what places the host on the shared clock.
func (d detector) host() (a []attribute.KeyValue) {
	text := func(key, value string, ok bool) {
		if ok && value != "" {
			a = append(a, attribute.String(key, value))
		}
	}
	boot, err := stall.BootID()
	text(semconv.AttrBootID, boot, err == nil)
	host, err := os.Hostname()
	text(semconv.AttrHostName, host, err == nil)
	id, ok := d.machineID()
	text(semconv.AttrHostID, id, ok)
	return a
}

// CreationTime returns process.creation.time of a process of this host that was
// created that many clock ticks after the boot.
func CreationTime(ticks uint64) (string, error) { return creationTime(os.DirFS("/"), ticks) }

func creationTime(root fs.FS, ticks uint64) (string, error) {
	at, err := proc.StartTime(root, ticks)
	if err != nil {
		return "", err
	}
	return at.UTC().Format(time.RFC3339Nano), nil
}

// runtimeName is process.runtime.name by its semantic convention: go for the
// gc compiler, else the compiler's name.
func runtimeName() string {
	if runtime.Compiler == "gc" {
		return "go"
	}
	return runtime.Compiler
}

// machineID returns the id of the machine, machine-id(5). A container often has
// none.
func (d detector) machineID() (string, bool) {
	for _, name := range []string{"etc/machine-id", "var/lib/dbus/machine-id"} {
		text, err := os.ReadFile(d.root + name)
		if id := strings.TrimSpace(string(text)); err == nil && id != "" {
			return id, true
		}
	}
	return "", false
}
