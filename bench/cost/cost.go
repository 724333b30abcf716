// Package cost measures what it costs a service to be watched: by otelgc, and by what one
// would use instead.
package cost

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/sidecar"
)

// Experiment measures it, or makes the page of what was measured.
func Experiment() harness.Experiment {
	return harness.Experiment{Name: "cost", Title: "What it costs a service to be watched", Answer: "What does otelgc cost a service, and what do others?", Measurement: new(cost)}
}

type cost struct {
	kept              string // the rows beside the page
	from, rows, only  string
	pairs, few        int
	warmup, span, max time.Duration
	slot, turn        time.Duration
	rate              float64
	conns, live       int
	pin               bool

	cpus     []int // of the services; nil: anywhere
	binaries *binaries
	sidecar  string // its binary
	log      *log
	*harness.Page
}

// KeepIn has the rows kept beside the page, which is made of them.
func (e *cost) KeepIn(dir string) { e.kept = filepath.Join(dir, "cost.csv") }

func (e *cost) Flags(f *flag.FlagSet) {
	f.StringVar(&e.from, "from", "", "make the page of the rows in `FILE`, and measure nothing")
	f.StringVar(&e.rows, "rows", e.kept, "append rows to `FILE` as they come, and measure those that it lacks (remove the file when the code has changed); empty: keep none")
	f.StringVar(&e.only, "only", "", "measure these of `SHAPE/SETTING,SHAPE,...`; empty: all")
	f.IntVar(&e.pairs, "pairs", 16, "pairs of otelgc at its default budget in the first shape; a half of it for the check, and for an execution trace")
	f.IntVar(&e.few, "few", 6, "pairs of each other setting, and in the other shapes")
	f.DurationVar(&e.warmup, "warmup", 4*time.Second, "load before a window")
	f.DurationVar(&e.span, "span", 15*time.Second, "length of the window in which CPU is measured, and of that in which answers are timed, at least")
	f.DurationVar(&e.max, "max", 2*time.Minute, "longest wait for a window to hold whole cycles of tracing")
	f.DurationVar(&e.slot, "slot", 160*time.Millisecond, "for so long both get requests while CPU is measured, until their use is read")
	f.DurationVar(&e.turn, "turn", 500*time.Millisecond, "for so long one of the two gets requests while answers are timed")
	f.Float64Var(&e.rate, "rate", 0, "requests per second; 0: 15 % of what a service can answer that is alone, since two are loaded at once, and requests in bunches take less CPU")
	f.IntVar(&e.conns, "conns", 16, "requests at once, at most")
	f.IntVar(&e.live, "live", 512, "long-lived heap of the shape heap, in `MB`")
	f.BoolVar(&e.pin, "pin", true, "run the services on half of the CPUs, and all else on the others")
}

func (e *cost) Measure(ctx context.Context, p *harness.Page) (err error) {
	e.Page = p
	if err := e.known(); err != nil {
		return err
	}
	if e.from != "" {
		f, err := os.Open(e.from)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // it was only read
		rows, err := ReadRows(f)
		if err != nil {
			return fmt.Errorf("%s: %w", e.from, err)
		}
		return write(p, e.from, rows)
	}
	if e.log, err = openLog(e.rows); err != nil {
		return err
	}
	if err := e.log.here(p.Measured()); err != nil {
		return err
	}
	if e.pin {
		if e.cpus, err = harness.Split(); err != nil {
			return err
		}
	}
	err = harness.TempDir(func(dir string) (err error) {
		if e.sidecar, err = harness.BuildSidecar(ctx, dir); err != nil {
			return err
		}
		if e.binaries, err = openBinaries(ctx, dir); err != nil {
			return err
		}
		return e.measure(ctx)
	})
	if err != nil {
		return err
	}
	return write(p, cmp.Or(e.rows, "cost.csv"), e.log.Rows)
}

// wants returns how many pairs a setting has in a shape.
func (e *cost) wants(s *shape, v *setting) int {
	switch {
	case !v.in(s) || !v.wanted(s, e.only):
		return 0
	case s.name == "http" && v.name == standard:
		return e.pairs
	case s.name == "http" && v.many:
		return max(e.few, e.pairs/2)
	}
	return e.few
}

// measure measures the pairs that are missing, one of each setting after the other: what
// the machine does in one hour and not in another is in all of them, and a run that is
// interrupted has some of each.
func (e *cost) measure(ctx context.Context) error {
	all, shapes, failed := all, shapes(e.live), make(map[*setting]bool)
	for pair := 1; pair <= max(e.pairs, e.few); pair++ {
		for i := range shapes {
			for j := range all {
				s, v := &shapes[i], &all[j]
				if pair > e.wants(s, v) || failed[v] || e.log.has(s.name, v.name, pair) {
					continue
				}
				r, err := e.pair(ctx, s, v, pair)
				if err != nil && v.mayFail && ctx.Err() == nil {
					failed[v] = true
					e.Logf("%s/%s is left out: %v", s.name, v.name, err)
					reason, _, _ := strings.Cut(err.Error(), "\n")
					err = e.log.note(leftOut + v.name + ": " + reason)
				} else if err == nil {
					err = errors.Join(e.log.note(e.Measured()), e.log.add(r))
				}
				if err != nil {
					return fmt.Errorf("%s/%s: pair %d: %w", s.name, v.name, pair, err)
				}
			}
		}
	}
	return nil
}

// leftOut begins the note on a setting that this machine cannot measure.
const leftOut = "left out: "

// pair measures one pair. Both services are new, since where their code and heap happen to
// lie makes one slower than the other for as long as it lives.
func (e *cost) pair(ctx context.Context, s *shape, v *setting, number int) (r Row, err error) {
	r = Row{Shape: s.name, Setting: v.name, Pair: int64(number)}
	if r.Rate, err = e.rateOf(ctx, s); err != nil {
		return r, err
	}
	var two [2]*subject // without, with
	for _, i := range order(number) {
		of := v.base()
		if i == 1 {
			of = v
		}
		if two[i], err = e.start(ctx, s, of); err != nil {
			if other := two[1-i]; other != nil {
				err = errors.Join(err, other.stop())
			}
			return r, err
		}
	}
	if err := e.connect(s, two[:]...); err != nil {
		return r, errors.Join(err, two[0].stop(), two[1].stop())
	}
	w := &window{cost: e, two: two, first: order(number), rate: r.Rate, whole: v.whole, span: e.span * time.Duration(max(1, v.spans))}
	err = e.beside(two[1], v, &r, func() error { return w.measure(ctx, &r) })
	if err != nil {
		return r, errors.Join(err, two[0].stop(), two[1].stop())
	}
	if err := errors.Join(two[0].finish(&r.Without), two[1].finish(&r.With)); err != nil {
		return r, err
	}
	e.Logf("%s/%s %d: %.1f s, %.1f us per request, %+.2f %%, p99 %.0f us, x %.3f, %.0f %% traced", s.name, v.name, number, r.WindowS,
		r.Without.perRequest(), r.more(), r.Without.P99, r.With.P99/r.Without.P99, 100*r.With.TracedS/r.WindowS)
	return r, nil
}

// connect adds the other callers of each, in turns.
func (e *cost) connect(s *shape, all ...*subject) error {
	for range e.conns - 1 {
		for _, u := range all {
			if err := u.load.connect(s.kind, u.address); err != nil {
				return err
			}
		}
	}
	return nil
}

// rateOf returns the rate of requests in a shape: that of the rows that are there.
func (e *cost) rateOf(ctx context.Context, s *shape) (rate float64, err error) {
	if s.full {
		return 0, nil
	}
	if e.rate > 0 {
		return e.rate, nil
	}
	for _, r := range e.log.Rows.Rows {
		if r.Shape == s.name {
			return r.Rate, nil
		}
	}
	u, err := e.start(ctx, s, find(nothing))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, u.stop()) }()
	if err := e.connect(s, u); err != nil {
		return 0, err
	}
	for range 2 { // the first warms it up
		u.take()
		if _, err = u.slot(e.warmup, 0, 0); err != nil {
			return 0, err
		}
	}
	rate = math.Ceil(share*float64(len(u.take()))/e.warmup.Seconds()/100) * 100
	e.Logf("%s: %.0f requests/s", s.name, rate)
	return rate, nil
}

// share of what a service can answer at most is what each of two gets. There requests come
// in bunches, which take less CPU each: with this share both keep their CPUs half busy.
const share = 0.15

// order returns which of the two is first in a pair.
func order(number int) [2]int {
	if number%2 == 0 {
		return [2]int{1, 0}
	}
	return [2]int{0, 1}
}

// beside calls f while a sidecar watches the service, if one is to. What it exports counts
// as the service's.
func (e *cost) beside(u *subject, v *setting, r *Row, f func() error) error {
	if v.sidecar == nil {
		return f()
	}
	args := append(v.sidecar(strconv.Itoa(u.Process.Pid), "http://"+u.address), "--mode", "periodic", "--board", "off")
	return sidecar.Beside(e.sidecar, u.receiver.URL, args, func(pid int) error {
		before, err := harness.CPU(pid)
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := f(); err != nil {
			return err
		}
		after, err := harness.CPU(pid)
		if err != nil {
			return err
		}
		r.BesideCPUs = (after - before).Seconds() * r.WindowS / time.Since(begin).Seconds()
		r.BesidePeakKB, err = peak(pid)
		return err
	})
}
