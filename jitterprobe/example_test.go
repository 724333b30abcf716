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
