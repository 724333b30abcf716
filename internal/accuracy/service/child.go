package service

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
)

// specEnv holds the Spec of a child as JSON.
const specEnv = "OTELGC_ACCURACY_SERVICE"

// hello is the child's first document.
type hello struct{ Addr string }

// Main runs the service and ends the process, if this process is a child.
func Main() {
	text := os.Getenv(specEnv)
	if text == "" {
		return
	}
	var spec Spec
	err := json.Unmarshal([]byte(text), &spec)
	if err == nil {
		err = serve(spec, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs the service until in ends.
func serve(spec Spec, in io.Reader, out io.Writer) (err error) {
	live := grow(spec.LiveMB)
	defer runtime.KeepAlive(live)
	var w *monitored
	if spec.Monitor {
		if w, err = startMonitor(spec.Budget); err != nil {
			return err
		}
	}
	shop := &orders{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: w.wrap(shop), ReadHeaderTimeout: time.Minute}
	m := newMeter(shop.served.Load)
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) })
	wg.Go(func() { m.run(quit) })
	for range spec.Idle {
		wg.Go(func() { <-quit })
	}
	if spec.Forced > 0 {
		wg.Go(func() { force(spec.Forced, quit) })
	}
	note, stopProbe, err := startProbe(spec.Probe)
	if err == nil {
		err = answer(m, note, hello{Addr: listener.Addr().String()}, in, out)
		stopProbe()
	}
	close(quit)
	err = errors.Join(err, server.Shutdown(context.Background()), w.stop())
	wg.Wait()
	return err
}

// answer obeys the commands until in ends.
func answer(m *meter, note string, h hello, in io.Reader, out io.Writer) error {
	e := json.NewEncoder(out)
	if err := e.Encode(h); err != nil {
		return fmt.Errorf("write hello: %w", err)
	}
	for s := bufio.NewScanner(in); s.Scan(); {
		var u Usage
		switch verb, arg, _ := strings.Cut(s.Text(), " "); verb {
		case "now":
			u = m.now()
		case "slice":
			limit, err := time.ParseDuration(arg)
			if err != nil {
				return fmt.Errorf("read command: %w", err)
			}
			u = m.atSlice(limit)
		default:
			return fmt.Errorf("read command %q: unknown", verb)
		}
		u.Note = note
		if err := e.Encode(u); err != nil {
			return fmt.Errorf("write usage: %w", err)
		}
	}
	return nil
}

// force collects perSecond times a second until quit is closed.
func force(perSecond int, quit <-chan struct{}) {
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			runtime.GC()
		case <-quit:
			return
		}
	}
}

func startProbe(mode string) (note string, stop func(), err error) {
	if mode == "" {
		return "", func() {}, nil
	}
	if mode == Goroutine {
		return "", spinGoroutine(), nil
	}
	m, err := jitterprobe.ParseMode(mode)
	if err != nil {
		return "", nil, err
	}
	p, err := jitterprobe.Start(jitterprobe.Options{Mode: m})
	if err != nil {
		return "", nil, fmt.Errorf("start probe: %w", err)
	}
	return p.Note(), func() { p.Stop() }, nil
}

// Goroutine is the mode of the probe that nobody should have: see [spinGoroutine].
const Goroutine = "goroutine"

// spinGoroutine looks at the clock all the time, as a goroutine like any other:
// whoever stops the world has to interrupt it first.
func spinGoroutine() (stop func()) {
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		last, longest := time.Now(), time.Duration(0)
		for !over.Load() {
			now := time.Now()
			longest = max(longest, now.Sub(last))
			last = now
		}
	})
	return func() { over.Store(true); wg.Wait() }
}
