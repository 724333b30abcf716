// Package demo runs a sample service with otelgc in it under load, with a probe in
// another process, and reports what is to blame for p99.
//
// It is one binary in two or three processes: the parent drives the load and
// probes, the child is the service, and with [InjectHog] another child takes
// the service's CPUs away. So the parent's own pauses are none of the service's.
package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/load"
)

// Inject is what is done to the service on purpose.
type Inject string

const (
	InjectNone     Inject = "none"
	InjectForcedGC Inject = "forced-gc" // runtime.GC in a handler
	InjectSTW      Inject = "stw"       // runtime.Stack of all goroutines: stops the world, collects nothing
	InjectHog      Inject = "cpu-hog"   // other processes on the service's CPUs
	InjectThrottle Inject = "throttle"  // a quota of a fifth of a CPU; needs root
)

// ParseInject returns the injection that s names.
func ParseInject(s string) (Inject, error) {
	if i := Inject(s); slices.Contains([]Inject{InjectNone, InjectForcedGC, InjectSTW, InjectHog, InjectThrottle}, i) {
		return i, nil
	}
	return "", fmt.Errorf("parse injection %q: want none, forced-gc, stw, cpu-hog or throttle", s)
}

// Defaults of Options.
const (
	DefaultDuration = 15 * time.Second
	DefaultRate     = 100 // requests per second, so that few wait behind a slow one
	DefaultLiveHeap = 32 << 20
)

// Bounds of Options.
const (
	MinLiveHeap = 1 << 20
	MaxLiveHeap = 16 << 30
)

// Options describe what to run.
type Options struct {
	Schedule load.Schedule
	LiveHeap uint64 // bytes
	Inject   Inject
	Seed     uint64
	Spin     bool // the probe spins on a machine of one or two CPUs, too
	// Progress, if there is one, is called each second with how much of the load is over,
	// and at its end with all of it.
	Progress func(done, all time.Duration)
}

// budgetEnv is the variable that sets the exact budget of the service.
const budgetEnv = "OTELGC_EXACT_BUDGET"

// CheckEnvironment returns what the service would refuse of its environment.
func CheckEnvironment() error {
	text := os.Getenv(budgetEnv)
	if b, err := strconv.ParseFloat(text, 64); text != "" && (err != nil || !(b >= 0 && b <= 1)) {
		return fmt.Errorf("%s=%q: want a fraction from 0 to 1", budgetEnv, text)
	}
	return nil
}

// childOptions are what the service has to know.
type childOptions struct {
	LiveHeap uint64 `json:"live_heap"`
	Inject   Inject `json:"inject"`
	Seed     uint64 `json:"seed"`
	Board    string `json:"board"` // empty for none
	// Limit is how long the process may live at all, whatever becomes of the
	// parent.
	Limit time.Duration `json:"limit"`
	// Parent is the parent's process, and Dir its directory, which goes when it
	// does.
	Parent int    `json:"parent"`
	Dir    string `json:"dir"`
}

// Environment variables by which the binary knows that it is a child.
const (
	roleVariable    = "OTELGC_DEMO_ROLE"
	optionsVariable = "OTELGC_DEMO_OPTIONS"

	roleService = "service"
	roleHog     = "hog"
)

// errReported is the failure of a child that its parent already knows.
var errReported = errors.New("reported to the parent")

// Role plays the part of a child if this process is one, and returns its exit
// code.
func Role() (code int, is bool) {
	part := map[string]func(childOptions) error{roleService: serve, roleHog: hog}[os.Getenv(roleVariable)]
	if part == nil {
		return 0, false
	}
	var o childOptions
	err := json.Unmarshal([]byte(os.Getenv(optionsVariable)), &o)
	if err == nil {
		err = part(o)
	}
	if err == nil {
		return 0, true
	}
	if !errors.Is(err, errReported) {
		_, _ = fmt.Fprintf(os.Stderr, "otelgc-sidecar: demo %s: %v\n", os.Getenv(roleVariable), err)
	}
	return 1, true
}
