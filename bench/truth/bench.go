package truth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// bench is a program that injects one class, and its log.
type bench struct {
	class    *class
	m        *otelgc.Monitor
	begin    func(context.Context) (end func()) // of a request, as who watches knows it
	reports  *reports
	delays   delays
	listener net.Listener
	pairing  sync.Mutex

	memory        []byte  // to hash
	hashed, turns float64 // bytes, and turns of spin, in a nanosecond

	long  time.Duration // of an injection; 0 before there are any
	usual time.Duration // that a request works without injection, where it has a thread of its own

	mu sync.Mutex
	record
	windows []window
	watched []stall.Span // when requests were watched, by time; nil for always
}

// record is what a program logs.
type record struct {
	Requests []request
	Injected []stall.Span
	Samples  []sample // by time
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
	b := &bench{class: c}
	take := func(w *stall.Window, s *stall.Share) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.windows = append(b.windows, window{*w, *s})
	}
	dropped, err := b.run(ctx, take, func() {
		t = newTally(c, b.baseline(ctx))
		for until := time.Now().Add(e.limit); ctx.Err() == nil; {
			b.round(round, c.around)
			if n, alone := b.affected(t.least); n >= e.affected && alone >= e.alone || time.Now().After(until) {
				break
			}
		}
	})
	if err != nil {
		return nil, err
	}
	t.dropped, t.callers = dropped, b.reports.callers
	t.classify(b)
	return t, nil
}

// run calls f while a monitor that follows windows watches this program, with the
// heap and the GOGC of the class. It returns what the monitor dropped.
func (b *bench) run(ctx context.Context, take func(*stall.Window, *stall.Share), f func()) (dropped string, err error) {
	b.reports = newReports()
	err = b.prepared(func() error {
		return harness.Monitored(func(m *otelgc.Monitor) (err error) {
			b.m = m
			b.begin = func(ctx context.Context) func() {
				w := m.Begin(ctx)
				return w.End
			}
			b.calibrate()
			runtime.GC()
			if err := b.traced(ctx); err != nil {
				return err
			}
			f()
			if err := m.Flush(ctx); err != nil {
				return err
			}
			dropped, err = b.reports.dropped(ctx)
			return err
		}, otelgc.WithLoggerProvider(b.reports.logs), otelgc.WithMeterProvider(b.reports.meters),
			otelgc.WithArrivalHeader(arrivalHeader, otelgc.ArrivalMonotonic), otelgc.WithOnWindow(take))
	})
	return dropped, errors.Join(err, b.reports.stop(context.Background()))
}

// prepared calls f with the heap and the GOGC of the class, and what injections need.
func (b *bench) prepared(f func() error) (err error) {
	runtime.GC() // frees the heap of the run before
	defer debug.SetGCPercent(debug.SetGCPercent(b.class.percent))
	live := heap(b.class.live)
	defer runtime.KeepAlive(live)
	if b.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	err = f()
	b.delays.close()
	return errors.Join(err, b.listener.Close())
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

// baseline does requests without injection, and returns their p99. Then injections have
// their length.
func (b *bench) baseline(ctx context.Context) time.Duration {
	for b.count() < baseline && ctx.Err() == nil {
		b.round(round/2, nil)
	}
	p99 := b.p99()
	b.usual = b.p99Worked()
	b.long = max(injectedTimes*p99, leastInjected)
	b.forget()
	return p99
}

func (b *bench) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.Requests)
}

// p99 returns how long a request takes without injection, that of the machine
// included, if it left enough requests alone.
func (b *bench) p99() time.Duration {
	var all, alone []float64
	for i := range b.Requests {
		took := b.Requests[i].extent().Duration()
		all = append(all, float64(took))
		if b.held(&b.Requests[i]) <= took/4 {
			alone = append(alone, float64(took))
		}
	}
	if len(alone) < baseline/4 {
		alone = all
	}
	return time.Duration(harness.Quantile(alone, 0.99))
}

// p99Worked returns for how long the kernel runs a request's thread without
// injection; 0 where it has no thread of its own.
func (b *bench) p99Worked() time.Duration {
	return time.Duration(harness.Quantile(harness.Each(b.Requests, func(r request) float64 { return float64(r.Worked) }), 0.99))
}

// forget begins the log anew.
func (b *bench) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Requests = nil
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
			b.Injected = append(b.Injected, s)
			b.mu.Unlock()
		}
	}
	wg.Wait()
	close(quit)
	beside.Wait()
}

// request is one request as its program knows it.
type request struct {
	Begin, End [2]stall.Instant // it began and ended between these
	Arrival    stall.Instant
	Own        stall.Span    // what it injected itself
	Worked     time.Duration // for which the kernel ran its thread, if that is its own
}

// sample is for how long the machine had kept threads of the process waiting for
// a CPU up to some instant.
type sample struct {
	At   stall.Instant
	Held time.Duration
}

// request does one request on the calling goroutine.
func (b *bench) request() {
	var r request
	if b.class.thread {
		runtime.Gosched() // its turn on the P begins with it
		r.Worked = -harness.ThreadCPU()
	}
	r.Begin[0] = b.now() - clockSlack
	end := b.begin(context.Background())
	r.Begin[1] = b.now() + clockSlack
	b.work(&r)
	r.End[0] = b.now() - clockSlack
	end()
	r.End[1] = b.now() + clockSlack
	if b.class.thread {
		r.Worked += harness.ThreadCPU()
	}
	b.log(&r)
}

func (b *bench) work(r *request) {
	b.class.work(b)
	if b.class.own != nil && b.long > 0 && rand.IntN(3) == 0 {
		r.Own = b.class.own(b, b.long)
	}
}

func (b *bench) log(r *request) {
	v := sample{Held: b.delays.read()}
	b.mu.Lock()
	defer b.mu.Unlock()
	v.At = b.now()
	b.Samples = append(b.Samples, v)
	b.Requests = append(b.Requests, *r)
}

// held returns for how long the machine kept threads of the process waiting
// during r, or a little longer than that.
func (b *bench) held(r *request) time.Duration {
	s := r.extent()
	before := sort.Search(len(b.Samples), func(i int) bool { return b.Samples[i].At > s.Start })
	after := sort.Search(len(b.Samples), func(i int) bool { return b.Samples[i].At >= s.End })
	if before == 0 || after == len(b.Samples) {
		return 0
	}
	return b.Samples[after].Held - b.Samples[before-1].Held
}

func (r *request) extent() stall.Span {
	s := stall.Span{Start: r.Begin[1], End: r.End[0]}
	if r.Arrival != 0 {
		s.Start = min(s.Start, r.Arrival)
	}
	return s
}

// overlap returns for how long what was injected overlaps r. Where that is work
// of r's own, it is no longer than what r worked more than others.
func (b *bench) overlap(r *request) time.Duration {
	d := r.Own.Duration()
	for _, s := range b.Injected {
		d += s.Clip(r.extent()).Duration()
	}
	if b.usual > 0 {
		d = min(d, max(0, r.Worked-b.usual))
	}
	return d
}

// waited reports whether r waited for longer than what was injected into it took:
// then that was not the largest cause, and the log does not know what was.
func (b *bench) waited(r *request) bool {
	return b.usual > 0 && r.extent().Duration()-r.Worked > b.overlap(r)
}

// affected returns how many requests were affected so far, but for those that the
// machine held up, and how many of them it left alone.
func (b *bench) affected(least time.Duration) (n, alone int) {
	for i := range b.Requests {
		r := &b.Requests[i]
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
// request all the same. The kernel's figure is the sum over all threads, and a
// thread that another one woke waits too: with a smaller part, no request counts as
// left alone on a machine of two CPUs.
const alonePart = 4

// leftAlone reports whether the machine had a small part in r at most.
func (b *bench) leftAlone(r *request) bool { return alonePart*b.held(r) <= b.overlap(r) }

// heldUp reports whether the machine delayed r by more than half of what was injected. It
// is false for requests with a thread of their own: for them, waited counts the machine's
// part as a wait.
func (b *bench) heldUp(r *request) bool { return b.usual == 0 && b.held(r) > b.overlap(r)/2 }

const (
	arrivalHeader = "X-Arrival"
	callEvery     = 5 * time.Millisecond
	connections   = 4
)

type requestKey struct{}

// call sends requests through the middleware until a time, each when a schedule
// says, which is its arrival: the schedule does not wait for a world that is
// stopped.
func (b *bench) call(until time.Time) {
	inner := http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		r := q.Context().Value(requestKey{}).(*request)
		r.Begin[1] = b.now() + clockSlack
		b.work(r)
		r.End[0] = b.now() - clockSlack
	})
	next := b.m.Middleware(inner)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		var r request
		at, _ := strconv.ParseInt(q.Header.Get(arrivalHeader), 10, 64)
		r.Arrival = stall.Instant(at)
		r.Begin[0] = b.now() - clockSlack
		next.ServeHTTP(rw, q.WithContext(context.WithValue(q.Context(), requestKey{}, &r)))
		r.End[1] = b.now() + clockSlack
		b.log(&r)
	}))
	defer s.Close()
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range connections {
		wg.Go(func() {
			for k := i; ; k += connections {
				due := begin.Add(time.Duration(k) * callEvery)
				if due.After(until) {
					return
				}
				time.Sleep(time.Until(due))
				arrival, _ := clock.At(due)
				get(s, arrival)
			}
		})
	}
	wg.Wait()
}

func get(s *httptest.Server, arrival stall.Instant) {
	q, err := http.NewRequest(http.MethodGet, s.URL, nil)
	if err != nil {
		return
	}
	q.Header.Set(arrivalHeader, strconv.FormatInt(int64(arrival), 10))
	answer, err := s.Client().Do(q)
	if err != nil {
		return // there is one request fewer
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}
