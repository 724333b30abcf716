package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

const specEnv = "OTELGC_CAUSES_CHILD"

// childSpec is what a child does.
type childSpec struct {
	Mode   string // of the probe; empty for none
	Work   string // what the child injects into itself: "", "calm", "gc", "gc held"; or into CPU: "hog", "greedy hog", "packets"
	Join   string // a cgroup
	CPU    int    // of who has no probe
	Away   bool   // in a network of its own
	Rights rights
	Trap   bool // the probe's memory is to be one, of faults that last until they are ended if Wait
	Wait   bool
}

// seenGap is a gap as the child tells it.
type seenGap struct {
	Start, End stall.Instant
	Cause      string
	Evidence   string
}

// seen is the last word of a child.
type seen struct {
	Gaps     []seenGap
	Truth    []stall.Span // what it did to itself, or when a hog ran
	Observed time.Duration
	Limits   []string
	Missing  string // why it cannot do it here
}

// hello is its first.
type hello struct {
	CPU     int
	Trap    trap
	Missing string // why it cannot do it here
}

// childMain never returns in a child.
func childMain() {
	text, is := os.LookupEnv(specEnv)
	if !is {
		return
	}
	var spec childSpec
	err := json.Unmarshal([]byte(text), &spec)
	if err == nil {
		err = child(spec)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "causes: child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(spec childSpec) error {
	if spec.Join != "" {
		if err := os.WriteFile(filepath.Join(spec.Join, "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return fmt.Errorf("join cgroup: %w", err)
		}
	}
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	quit := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it
		close(quit)
	}()
	out := json.NewEncoder(os.Stdout)
	if spec.Mode == "" {
		if err := out.Encode(hello{CPU: spec.CPU}); err != nil {
			return err
		}
		truth, err := loads[spec.Work](spec.CPU, clock, quit)
		return errors.Join(err, out.Encode(seen{Truth: truth}))
	}
	return probing(spec, clock, quit, out)
}

// work is done to a CPU, or by a process to itself, until quit is closed. It
// returns what is known of when it took the CPU.
type work func(cpu int, clock stall.Clock, quit <-chan struct{}) (truth []stall.Span, err error)

// loads are what a child does to a CPU, works what a probing one does to itself.
var (
	loads = map[string]work{"hog": hog, "greedy hog": greedy, "packets": receive}
	works = map[string]work{
		"": idle, "calm": taken,
		"gc":      collect(func(h *held) []stall.Span { return h.stops }),
		"gc held": collect((*held).forCollections),
	}
)

// maxGaps bounds what a child keeps.
const maxGaps = 1 << 20

func probing(spec childSpec, clock stall.Clock, quit <-chan struct{}, out *json.Encoder) error {
	mode, err := jitterprobe.ParseMode(spec.Mode)
	if err != nil {
		return err
	}
	if spec.Work == "calm" {
		debug.SetGCPercent(-1)
	}
	if err := spec.Rights.keep(); err != nil {
		return errors.Join(out.Encode(hello{Missing: err.Error()}), out.Encode(seen{}))
	}
	var s seen
	p, err := jitterprobe.Start(jitterprobe.Options{Mode: mode, Force: true, Interrupts: true, Clock: clock})
	if err != nil {
		return err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for g := range p.All() {
			if len(s.Gaps) < maxGaps {
				s.Gaps = append(s.Gaps, seenGap{g.Start, g.End, g.Cause.String(), g.Evidence.String()})
			}
		}
	}()
	if mode == jitterprobe.Spin {
		if _, err := jitterprobe.Reserve(p.CPU()); err != nil {
			return err
		}
	}
	for _, l := range p.Limits() {
		s.Limits = append(s.Limits, l.String())
	}
	first := hello{CPU: p.CPU()}
	if spec.Trap {
		if first.Trap, err = setTrap(spec.Wait); err != nil {
			first.Missing = err.Error()
		}
	}
	if err := out.Encode(first); err != nil {
		return err
	}
	truth, err := works[spec.Work](p.CPU(), clock, quit)
	summary := p.Stop()
	<-read
	s.Observed = summary.Observed()
	s.Truth = truth
	var missing missingRights
	if errors.As(err, &missing) {
		s.Missing, err = missing.Error(), nil
	}
	return errors.Join(err, out.Encode(s))
}

func idle(_ int, _ stall.Clock, quit <-chan struct{}) ([]stall.Span, error) {
	<-quit
	return nil, nil
}
