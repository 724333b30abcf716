package otelgc

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/otelgc/otelgc/internal/telemetry"
)

// TestRoutes: a name is found again, and neither many names nor long ones are
// kept, whoever comes first.
func TestRoutes(t *testing.T) {
	var r routes
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range maxRouteNames / 2 {
				name := fmt.Sprintf("/route/%d", i)
				if got := r.name(r.id(name)); got != name {
					t.Errorf("got %q, want %q", got, name)
				}
			}
		})
	}
	wg.Wait()
	for i := range 2 * maxRouteNames {
		r.id(fmt.Sprintf("/path/%d", i))
	}
	if n := len(r.known.Load().names); n != maxRouteNames {
		t.Errorf("%d names are kept, want %d", n, maxRouteNames)
	}
	for name, want := range map[string]string{
		"": "", "/route/1": "/route/1", "/late": telemetry.OtherRoute, telemetry.OtherRoute: telemetry.OtherRoute,
	} {
		if got := r.name(r.id(name)); got != want {
			t.Errorf("%q is told as %q, want %q", name, got, want)
		}
	}
}

// TestRoutesOfStrangers: a program that takes for a route what its clients write
// harms itself little.
func TestRoutesOfStrangers(t *testing.T) {
	var r routes
	if got := r.name(r.id(strings.Repeat("x", telemetry.MaxRouteLength+1))); got != telemetry.OtherRoute {
		t.Errorf("a long name is told as %.20q", got)
	}
	if got, want := r.name(r.id("/\xff")), "/\uFFFD"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	line := strings.Repeat("y", 1<<20)
	kept := r.name(r.id(line[:10]))
	if kept != line[:10] || unsafe.StringData(kept) == unsafe.StringData(line) {
		t.Errorf("got %q, want a copy that keeps no megabyte", kept)
	}
}
