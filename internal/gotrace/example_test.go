package gotrace_test

import (
	"bytes"
	"fmt"
	"io"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

func ExampleReader() {
	data, err := gotracetest.Assemble(`
		Trace Go1.26
		EventBatch gen=1 m=18446744073709551615 time=0 size=auto
		Sync
		Frequency freq=15625000 # a tick is 64 ns
		ClockSnapshot dt=0 mono=5000000000 sec=0 nsec=0
		EventBatch gen=1 m=42 time=0 size=auto
		ProcStatus dt=1 p=0 pstatus=1
		GoStatus dt=1 g=1 m=42 gstatus=2
		STWBegin dt=8 kind_string=1 stack=1
		STWEnd dt=100
		EventBatch gen=1 m=18446744073709551615 time=0 size=auto
		Stacks
		Stack id=1 nframes=2
		pc=10 func=2 file=4 line=1
		pc=20 func=3 file=4 line=2
		EventBatch gen=1 m=18446744073709551615 time=0 size=auto
		Strings
		String id=1
		data="read mem stats"
		String id=2
		data="runtime.ReadMemStats"
		String id=3
		data="main.agent"
		String id=4
		data="agent.go"
		EndOfGeneration`)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		g, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, s := range g.Stops {
			fmt.Printf("%s for %v at %d, by %s through %s\n", s.Reason, s.Duration(), s.Start, s.Caller, s.Entry)
		}
	}
	// Output: read mem stats for 6.4µs at 5000000640, by main.agent through runtime.ReadMemStats
}
