package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/spread"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// bench is a program that injects one class, and its log.
type bench struct {
	class    *class
	m        *otelgc.Monitor
	callers  *callers
	dropped  dropped
	delays   delays
	samples  []sample // of delays, by time
	listener net.Listener
	pairing  sync.Mutex

	memory        []byte  // to hash
	hashed, turns float64 // bytes, and turns of spin, in a nanosecond

	long  time.Duration // of an injection; 0 before there are any
	usual time.Duration // that a request works without injection, where its thread tells

	mu       sync.Mutex
	requests []request
	injected []stall.Span
	windows  []window
}

// window is one request as the monitor knows it.
type window struct {
	stall.Window
	share stall.Share
}

const (
	baseline = 200 // requests without injection
	// times the p99 without injection is what makes a request affected, and
	// what is injected is somewhat longer.
	affectedTimes = 5
	injectedTimes = 9
	leastInjected = 5 * time.Millisecond
	round         = 500 * time.Millisecond
)

// class runs one class until enough requests are affected.
func (e *experiment) class(ctx context.Context, c *class) (t *tally, err error) {
	runtime.GC() // what the class before left
	defer debug.SetGCPercent(debug.SetGCPercent(c.percent))
	live := heap(c.live)
	defer runtime.KeepAlive(live)
	b := &bench{class: c}
	if err := b.start(); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, b.stop())
		if t != nil {
			t.callers = b.callers.seen() // the monitor sends its last events when it stops
		}
	}()
	b.calibrate()
	runtime.GC()
	if err := b.traced(ctx); err != nil {
		return nil, err
	}
	for b.count() < baseline && ctx.Err() == nil {
		b.round(round/2, nil)
	}
	p99 := b.p99()
	b.usual = b.p99Worked()
	b.long = max(injectedTimes*p99, leastInjected)
	b.forget()
	t = newTally(c, p99)
	for until := time.Now().Add(e.limit); ctx.Err() == nil; {
		b.round(round, c.around)
		if n, alone := b.affected(t.least); n >= e.affected && alone >= e.alone || time.Now().After(until) {
			break
		}
	}
	if err := b.m.Flush(ctx); err != nil {
		return nil, err
	}
	if t.dropped, err = b.dropped.read(ctx); err != nil {
		return nil, err
	}
	t.judge(b)
	return t, nil
}

// clock is that of the monitors, within clockSlack.
var clock = func() stall.Clock {
	c, err := stall.NewClock()
	if err != nil {
		panic(err)
	}
	return c
}()

var clockSlack = stall.Instant(4 * clock.Error())

func (b *bench) now() stall.Instant { return clock.Now() }

func (b *bench) start() (err error) {
	if b.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	b.callers, b.dropped = newCallers(), newDropped()
	b.m, err = otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(1), otelgc.WithLoggerProvider(b.callers.provider), otelgc.WithMeterProvider(b.dropped.provider),
		otelgc.WithArrivalHeader(arrivalHeader, otelgc.ArrivalMonotonic),
		otelgc.WithOnWindow(func(w *stall.Window, s *stall.Share) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.windows = append(b.windows, window{*w, *s})
		}))
	return err
}

func (b *bench) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b.delays.close()
	return errors.Join(b.m.Shutdown(ctx), b.callers.stop(ctx), b.dropped.provider.Shutdown(ctx), b.listener.Close())
}

// traced waits until windows are followed.
func (b *bench) traced(ctx context.Context) error {
	for ctx.Err() == nil {
		if w := b.m.Begin(ctx); w.Context(ctx) != ctx { // it never ends, and is none
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

func (b *bench) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.requests)
}

// p99 returns how long a request takes without injection, that of the machine
// included, if it left enough requests alone.
func (b *bench) p99() time.Duration {
	var all, alone []float64
	for i := range b.requests {
		took := b.requests[i].extent().Duration()
		all = append(all, float64(took))
		if b.held(&b.requests[i]) <= took/4 {
			alone = append(alone, float64(took))
		}
	}
	if len(alone) < baseline/4 {
		alone = all
	}
	return time.Duration(spread.Quantile(alone, 0.99))
}

// p99Worked returns for how long the kernel runs a request's thread without
// injection; 0 where nobody tells.
func (b *bench) p99Worked() time.Duration {
	var all []float64
	for i := range b.requests {
		all = append(all, float64(b.requests[i].worked))
	}
	return time.Duration(spread.Quantile(all, 0.99))
}

// forget begins the log anew.
func (b *bench) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = nil
}

// round does requests for d, with injections meanwhile if there are any.
func (b *bench) round(d time.Duration, around func(*bench, time.Duration) stall.Span) {
	quit, until := make(chan struct{}), time.Now().Add(d)
	var wg, beside sync.WaitGroup
	if b.class.beside != nil && b.long > 0 {
		beside.Go(func() { b.class.beside(b, quit) })
	}
	if b.class.http {
		wg.Go(func() { b.call(until) })
	} else {
		for range b.class.workers {
			wg.Go(func() {
				if b.class.thread {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread() // with the thread its delays would go
				}
				for time.Now().Before(until) {
					b.request()
				}
			})
		}
	}
	if around != nil {
		for time.Now().Before(until) {
			time.Sleep(b.long/4 + rand.N(b.long))
			s := around(b, b.long)
			b.mu.Lock()
			b.injected = append(b.injected, s)
			b.mu.Unlock()
		}
	}
	wg.Wait()
	close(quit)
	beside.Wait()
}
