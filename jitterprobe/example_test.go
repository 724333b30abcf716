package jitterprobe_test

import (
	"fmt"
	"log"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
)

// A probe of the last CPU for a second, and what it saw.
func Example() {
	p, err := jitterprobe.Start(jitterprobe.Options{
		OnGap: func(g jitterprobe.Gap) {
			if g.Duration() >= 50*time.Microsecond {
				fmt.Println(g.Cause, g.Duration())
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	time.Sleep(time.Second)
	s := p.Stop()
	fmt.Printf("%v on CPU %d: %d gaps in %v, longest %v\n", s.Mode, s.CPU, s.Gaps, s.Observed(), s.Longest.Duration())
}
