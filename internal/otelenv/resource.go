package otelenv

import (
	"context"
	"fmt"
	"os"
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
	options := []resource.Option{resource.WithTelemetrySDK()}
	if o.Other != nil {
		options = append(options, resource.WithDetectors(detector(host)), resource.WithAttributes(o.Other...))
	} else {
		if _, err := resource.New(ctx, resource.WithFromEnv()); err != nil { // the SDK does not name the variable
			return nil, oneLine(fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w: want name=value,name=value", err))
		}
		options = append(options, resource.WithService(), resource.WithDetectors(Detector()))
		if o.ServiceName != "" {
			options = append(options, resource.WithAttributes(otelsemconv.ServiceName(o.ServiceName)))
		}
		options = append(options, resource.WithFromEnv())
	}
	r, err := resource.New(ctx, options...)
	if err != nil {
		return nil, oneLine(fmt.Errorf("detect resource: %w", err))
	}
	return r, nil
}

// Detector returns a detector of what places a process on the shared clock:
// otelgc.boot.id, host.id, host.name, process.pid, process.creation.time
// (RFC 3339), process.runtime.name and process.runtime.version. What this
// system does not tell is left out.
func Detector() resource.Detector {
	return detector(func(ctx context.Context) []attribute.KeyValue {
		all := append(host(ctx), known(ctx,
			resource.WithProcessPID(), resource.WithProcessRuntimeName(), resource.WithProcessRuntimeVersion())...)
		self, err := proc.ReadStat(os.DirFS("/"), "self")
		if err != nil {
			return all
		}
		if created, err := CreationTime(self.Created); err == nil {
			all = append(all, attribute.String(semconv.AttrProcessCreation, created))
		}
		return all
	})
}

type detector func(context.Context) []attribute.KeyValue

// Detect returns a resource of no schema, as it has attributes of none.
func (d detector) Detect(ctx context.Context) (*resource.Resource, error) {
	return resource.NewSchemaless(d(ctx)...), nil
}

// host returns what places the host on the shared clock.
func host(ctx context.Context) []attribute.KeyValue {
	all := known(ctx, resource.WithHost(), resource.WithHostID())
	if boot, err := stall.BootID(); err == nil {
		all = append(all, attribute.String(semconv.AttrBootID, boot))
	}
	return all
}

// known returns what the SDK detects, without what it does not find: a container often
// has no machine-id, or an empty one.
func known(ctx context.Context, options ...resource.Option) (all []attribute.KeyValue) {
	r, _ := resource.New(ctx, options...) // with an error it has what the others detect
	for _, kv := range r.Attributes() {
		if kv.Value.String() != "" {
			all = append(all, kv)
		}
	}
	return all
}

// CreationTime returns process.creation.time of a process of this host that was
// created that many clock ticks after the boot.
func CreationTime(ticks uint64) (string, error) {
	at, err := proc.StartTime(os.DirFS("/"), ticks)
	if err != nil {
		return "", err
	}
	return at.UTC().Format(time.RFC3339Nano), nil
}
