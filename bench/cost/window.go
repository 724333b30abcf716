package cost

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service/shop"
)

// window measures two services that are there at once.
//
// CPU is measured first, while both get requests: a disturbance of the machine hits both
// alike. Where they took turns of 250 ms, nothing against nothing differed by some 10 % in
// two seconds on a machine that others use, by 2 % in turns of 20 ms; but work that is done
// by the clock counted twice then.
//
// Then answers are timed, while the services take turns of some length, in the order ABBA:
// at once, each would wait for the other's collections.
type window struct {
	*cost
	two   [2]*subject
	first [2]int // the order
	rate  float64
	whole bool          // to hold whole cycles of tracing and rest
	span  time.Duration // in which CPU is measured, at least
	slots int           // in which both got requests, so far
}

func (w *window) measure(ctx context.Context, r *Row) error {
	if err := w.warm(ctx); err != nil {
		return err
	}
	begin := time.Now()
	from, err := w.read()
	if err != nil {
		return err
	}
	if err := w.used(ctx); err != nil {
		return err
	}
	if err := w.timed(ctx); err != nil {
		return err
	}
	to, err := w.read()
	r.WindowS = time.Since(begin).Seconds()
	for i, u := range w.two {
		u.side.TracedS = to[i].Plus(from[i].Usage, -1).Traced.Wall.Seconds()
	}
	return err
}

// together sends requests to both at once, for a slot: those of one come in the middle
// between those of the other, and each is the first in every other slot. Where the requests
// of one always came just behind those of the other, they took 2 % more.
func (w *window) together(ctx context.Context) error {
	errs := make([]error, len(w.two))
	var wg sync.WaitGroup
	w.slots++
	for n := range w.two {
		i := (n + w.slots) % 2
		wg.Go(func() { _, errs[i] = w.two[i].slot(w.cost.slot, w.rate, float64(n)/2) })
	}
	wg.Wait()
	return errors.Join(errors.Join(errs...), ctx.Err())
}

// inTurns sends requests to one and the other, in four slots.
func (w *window) inTurns(ctx context.Context) error {
	for _, i := range []int{w.first[0], w.first[1], w.first[1], w.first[0]} {
		if err := ctx.Err(); err != nil {
			return err
		}
		took, err := w.two[i].slot(w.turn, w.rate, 0)
		if err != nil {
			return err
		}
		w.two[i].side.LoadS += took.Seconds()
	}
	return nil
}

// warm warms both up. Of a tracer that rests, the first slice is over then: it begins at
// the start, or when a sidecar asks for it.
func (w *window) warm(ctx context.Context) error {
	for begin := time.Now(); ; {
		if err := w.together(ctx); err != nil {
			return err
		}
		both, err := w.read()
		if err != nil {
			return err
		}
		took, now := time.Since(begin), both[1]
		if took >= w.warmup && (!w.whole || took >= w.max || now.Slices > 0 && now.Age >= w.warmup) {
			return nil
		}
	}
}

// over reports whether a window is. One of whole cycles ends as long after the begin of a
// slice as it began after that of another.
func (w *window) over(span, took time.Duration, from, now reading) bool {
	return took >= span && (!w.whole || took >= w.max || now.Slices > from.Slices && now.Age >= from.Age)
}

// reading is what a service has used so far.
type reading struct {
	cpu time.Duration
	shop.Usage
}

// read reads both: where one was asked more often than the other, nothing against nothing
// differed by half a percent.
func (w *window) read() (both [2]reading, err error) {
	for n := range w.two {
		i := (n + w.slots) % 2
		u, r := w.two[i], &both[i]
		if err = u.Ask("now", &r.Usage); err != nil {
			return both, err
		}
		if r.cpu, err = harness.CPU(u.Process.Pid); err != nil {
			return both, err
		}
	}
	return both, nil
}

// used measures the CPU that the services use. It goes on behind the window until both
// have had a collection: see whole.
func (w *window) used(ctx context.Context) error {
	var trail [2][]reading
	end := 0 // of the window, in the trail
	for begin := time.Now(); ; {
		now, err := w.read()
		if err != nil {
			return err
		}
		for i := range now {
			trail[i] = append(trail[i], now[i])
		}
		last := len(trail[0]) - 1
		if end == 0 && last > 0 && w.over(w.span, time.Since(begin), trail[1][0], trail[1][last]) {
			end = last
		}
		if end > 0 && (collected(trail[0], end) > 0 && collected(trail[1], end) > 0 || time.Since(begin) >= w.span+w.max) {
			break
		}
		if err := w.together(ctx); err != nil {
			return err
		}
	}
	for i, u := range w.two {
		from, to := whole(trail[i], end)
		u.side.CPUs = (to.cpu - from.cpu).Seconds()
		u.side.Requests, u.side.Cycles = to.Served-from.Served, int64(to.Cycles-from.Cycles)
		u.take() // these were not timed
	}
	return nil
}

// collected returns the first reading from i on that has seen the end of a collection which
// the one before has not; 0 for none.
func collected(trail []reading, i int) int {
	for i = max(i, 1); i < len(trail); i++ {
		if trail[i].Cycles != trail[i-1].Cycles {
			return i
		}
	}
	return 0
}

// whole returns where to begin and end with a trail of readings, of a window that ends at
// one of them, so that there are whole cycles of the collector in between: one cycle more
// or less in half a minute is 1 % of CPU. Where there are none it is the window.
func whole(trail []reading, end int) (from, to reading) {
	i, j := collected(trail, 1), collected(trail, end)
	if i == 0 || j <= i {
		return trail[0], trail[end]
	}
	return trail[i], trail[j]
}

// timed measures how long answers take.
func (w *window) timed(ctx context.Context) error {
	begin := time.Now()
	from, err := w.read()
	for err == nil {
		if err = w.inTurns(ctx); err != nil {
			break
		}
		var now [2]reading
		if now, err = w.read(); w.over(w.cost.span, time.Since(begin), from[1], now[1]) {
			break
		}
	}
	for _, u := range w.two {
		u.answers = u.take()
	}
	return err
}
