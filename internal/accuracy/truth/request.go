package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sort"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// request is one request as its program knows it.
type request struct {
	begin, end [2]stall.Instant // it began and ended between these
	arrival    stall.Instant
	own        stall.Span    // what it injected itself
	worked     time.Duration // for which the kernel ran its thread, if that is its own
}

// sample is for how long the machine had kept threads of the process waiting for
// a CPU up to some instant.
type sample struct {
	at   stall.Instant
	held time.Duration
}

// request does one request on the calling goroutine.
func (b *bench) request() {
	var r request
	if b.class.thread {
		runtime.Gosched() // its turn on the P begins with it
		r.worked = -threadTime()
	}
	r.begin[0] = b.now() - clockSlack
	w := b.m.Begin(context.Background())
	r.begin[1] = b.now() + clockSlack
	b.work(&r)
	r.end[0] = b.now() - clockSlack
	w.End()
	r.end[1] = b.now() + clockSlack
	if b.class.thread {
		r.worked += threadTime()
	}
	b.log(&r)
}

func (b *bench) work(r *request) {
	b.class.work(b)
	if b.class.own != nil && b.long > 0 && rand.IntN(3) == 0 {
		r.own = b.class.own(b, b.long)
	}
}

func (b *bench) log(r *request) {
	v := sample{held: b.delays.read()}
	b.mu.Lock()
	defer b.mu.Unlock()
	v.at = b.now()
	b.samples = append(b.samples, v)
	b.requests = append(b.requests, *r)
}

// held returns for how long the machine kept threads of the process waiting
// during r, or a little longer than that.
func (b *bench) held(r *request) time.Duration {
	s := r.extent()
	before := sort.Search(len(b.samples), func(i int) bool { return b.samples[i].at > s.Start })
	after := sort.Search(len(b.samples), func(i int) bool { return b.samples[i].at >= s.End })
	if before == 0 || after == len(b.samples) {
		return 0
	}
	return b.samples[after].held - b.samples[before-1].held
}

func (r *request) extent() stall.Span {
	s := stall.Span{Start: r.begin[1], End: r.end[0]}
	if r.arrival != 0 {
		s.Start = min(s.Start, r.arrival)
	}
	return s
}

// overlap returns for how long what was injected overlaps r. Where that is work
// of r's own, it is no longer than what r worked more than others.
func (b *bench) overlap(r *request) time.Duration {
	d := r.own.Duration()
	for _, s := range b.injected {
		d += s.Clip(r.extent()).Duration()
	}
	if b.usual > 0 {
		d = min(d, max(0, r.worked-b.usual))
	}
	return d
}

// waited reports whether r waited for longer than what was injected into it took:
// then that was not the largest cause, and the log does not know what was.
func (b *bench) waited(r *request) bool {
	return b.usual > 0 && r.extent().Duration()-r.worked > b.overlap(r)
}

// affected returns how many requests were affected so far, but for those that the
// machine held up, and how many of them it left alone.
func (b *bench) affected(least time.Duration) (n, alone int) {
	for i := range b.requests {
		r := &b.requests[i]
		if b.overlap(r) < least || b.heldUp(r) || b.waited(r) {
			continue
		}
		if n++; b.leftAlone(r) {
			alone++
		}
	}
	return n, alone
}

// alonePart of what was injected is what the machine may have added to it: with
// the request's own work, a fifth at most, what was injected is two thirds of the
// request all the same. What the kernel tells is the sum over all threads, and a
// thread that another of the process woke waits too: a smaller part has nobody
// left alone where there are two CPUs.
const alonePart = 4

// leftAlone reports whether the machine had a small part in r at most.
func (b *bench) leftAlone(r *request) bool { return alonePart*b.held(r) <= b.overlap(r) }

// heldUp reports whether the machine was an injector too. Where a request's thread
// is its own, waited knows better: what the machine did to it is part of its wait.
func (b *bench) heldUp(r *request) bool { return b.usual == 0 && b.held(r) > b.overlap(r)/2 }
