package nettrace_test

import (
	"bytes"
	"fmt"
	"io"

	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

func ExampleReader() {
	w := nettracetest.New(nettracetest.Options{})
	w.Events(
		nettracetest.Event{Provider: "App", ID: 1, Name: "Begin", Ticks: 1000, Thread: 7},
		nettracetest.Event{Provider: "App", ID: 2, Name: "End", Ticks: 5000, Thread: 7},
	)
	w.Lose(7, 3)
	w.Events(
		nettracetest.Event{Provider: "App", ID: 1, Name: "Begin", Ticks: 3000, Thread: 8},
		nettracetest.Event{Provider: "App", ID: 1, Name: "Begin", Ticks: 9000, Thread: 7},
	)
	w.End()

	r, err := nettrace.NewReader(bytes.NewReader(w.Bytes()), nettrace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		e, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		if e.IsLoss() {
			fmt.Printf("%d: thread %d lost %d events since %d\n", e.Ticks, e.Thread, e.Lost, e.LostSince)
			continue
		}
		fmt.Printf("%d: thread %d, %s of %s\n", e.Ticks, e.Thread, e.Name, e.Provider)
	}
	// Output:
	// 1000: thread 7, Begin of App
	// 3000: thread 8, Begin of App
	// 5000: thread 7, End of App
	// 9000: thread 7 lost 3 events since 5000
	// 9000: thread 7, Begin of App
}
