package jitterprobe_test

import (
	"fmt"
	"log"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// The gaps as they come to light, with their causes, until there were ten.
func ExampleProbe_All() {
	p, err := jitterprobe.Start(jitterprobe.Options{Interrupts: true})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Stop()
	for _, l := range p.Limits() {
		fmt.Println(l)
	}
	n := 0
	for g := range p.All() {
		fmt.Println(g.Duration(), g.Cause, g.Evidence)
		if n++; n == 10 {
			break
		}
	}
	s := p.Snapshot()
	fmt.Println(s.Causes[stall.HostPreempted].N, "gaps so far: another thread had the CPU")
}

// A probe of the last CPU for a second, and what it saw.
func Example() {
	p, err := jitterprobe.Start(jitterprobe.Options{})
	if err != nil {
		log.Fatal(err)
	}
	time.Sleep(time.Second)
	s := p.Stop()
	fmt.Printf("%v on CPU %d: %d gaps in %v, longest %v\n", s.Mode, s.CPU, s.Gaps, s.Observed(), s.Longest.Duration())
}

// A probe tried for a second before it is believed: how much of the time it could speak
// of, and which causes it could not have decided.
func ExampleTry() {
	t, err := jitterprobe.Try(jitterprobe.Options{}, time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: %.1f%% of %v seen\n", t.Mode, 100*t.Seen, t.Span)
	if t.Own != nil && t.Own.Switches > 0 {
		fmt.Println("its thread gave up the CPU", t.Own.Switches, "times")
	}
	for _, l := range t.Limits {
		fmt.Println(l)
	}
}
