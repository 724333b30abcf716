package probe

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/jitterprobe"
)

// Oslat holds the spinning probe against oslat (rt-tests) on one CPU, in alternating
// runs: both meet the same noise. It needs root and oslat.
func Oslat() harness.Experiment {
	return harness.Experiment{Name: "oslat", Title: "The spinning probe against oslat", Answer: "Does the probe count gaps as oslat does?", Measurement: new(oslat)}
}

type oslat struct {
	rounds    int
	span      time.Duration
	cpu, rest int // of the measuring loops, and of the other threads of both programs
}

// bounds are the lengths from which on gaps are compared.
var bounds = [...]time.Duration{2 * time.Microsecond, 10 * time.Microsecond, 50 * time.Microsecond}

// rates are the gaps per second of at least each of the bounds.
type rates [len(bounds)]float64

func (e *oslat) Flags(f *flag.FlagSet) {
	f.IntVar(&e.rounds, "rounds", 11, "runs of each program")
	f.DurationVar(&e.span, "span", 5*time.Second, "length of a run, in whole seconds")
}

func (e *oslat) Measure(ctx context.Context, p *harness.Page) error {
	if e.rounds < 1 || e.span < time.Second || e.span%time.Second != 0 {
		return fmt.Errorf("-rounds %d -span %v: want one round or more, of whole seconds", e.rounds, e.span)
	}
	cpus := harness.CPUs(0)
	if len(cpus) < 2 {
		return errors.New("this process may use only one CPU: both programs would measure themselves")
	}
	e.rest, e.cpu = cpus[0], cpus[len(cpus)-1]
	var c comparison
	for round := range e.rounds {
		if err := e.once(ctx, &c); err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		p.Logf("round %d of %d: gaps/s of at least %v: oslat %.1f, probe %.1f",
			round+1, e.rounds, bounds, c.oslat[round], c.probe[round])
	}
	e.write(p, &c)
	return nil
}

// comparison is what both saw in each round.
type comparison struct {
	version       string // of oslat
	oslat, probe  []rates
	loop, balance []float64 // of the probe
}

// once runs one after the other.
func (e *oslat) once(ctx context.Context, c *comparison) error {
	theirs, version, err := runOslat(ctx, e.cpu, e.rest, e.span)
	if err != nil {
		return err
	}
	s, err := e.spin(ctx)
	if err != nil {
		return err
	}
	c.version = version
	c.oslat = append(c.oslat, theirs)
	c.probe = append(c.probe, ratesOf(&s.Snapshot))
	c.loop = append(c.loop, s.Loop)
	c.balance = append(c.balance, s.Balance)
	return nil
}

// spin runs the probe for as long as oslat ran.
func (e *oslat) spin(ctx context.Context) (s jitterprobe.Summary, err error) {
	p, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Spin, CPU: &e.cpu})
	if err != nil {
		return s, err
	}
	restore, err := jitterprobe.Reserve(e.cpu) // of this process only the probe
	if err != nil {
		p.Stop()
		return s, fmt.Errorf("leave CPU %d to the probe: %w", e.cpu, err)
	}
	err = harness.Wait(ctx, e.span)
	s = p.Stop()
	if s.Mode != jitterprobe.Spin {
		err = errors.Join(err, fmt.Errorf("the probe does not spin: %s", s.Note))
	}
	return s, errors.Join(err, restore())
}

func ratesOf(s *jitterprobe.Snapshot) (r rates) {
	for i, b := range bounds {
		for _, c := range s.Counts {
			if c.AtLeast == b {
				r[i] = float64(c.N) / s.Observed().Seconds()
			}
		}
	}
	return r
}

// document is what oslat --json writes (rt-tests, src/oslat/oslat.c,
// write_summary_json, release 2.4).
type document struct {
	Version string `json:"rt_test_version:"` // with the colon, up to 2.8
	Thread  map[string]struct {
		Min       float64           `json:"min"`      // us
		Duration  float64           `json:"duration"` // s
		Histogram map[string]uint64 `json:"histogram"`
	} `json:"thread"`
}

// runOslat runs oslat on cpu, and what it does beside its loop on rest.
func runOslat(ctx context.Context, cpu, rest int, span time.Duration) (r rates, version string, err error) {
	err = harness.TempDir(func(dir string) error {
		path := filepath.Join(dir, "oslat.json")
		cmd := exec.CommandContext(ctx, "oslat", "--quiet",
			"--cpu-list", strconv.Itoa(cpu), "--cpu-main-thread", strconv.Itoa(rest),
			"--duration", strconv.Itoa(int(span/time.Second)), "--bucket-size", "1024", "--json="+path)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run oslat (Debian: rt-tests): %w: %s", err, out)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read what oslat wrote: %w", err)
		}
		r, version, err = parse(text)
		return err
	})
	return r, version, err
}

// parse counts the gaps. oslat rounds each up to whole microseconds, so "at least
// N us" are those of which the rounded length is above N. How its labels stand to
// its figures differs between releases: the smallest label is the minimum.
func parse(text []byte) (r rates, version string, err error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return r, "", fmt.Errorf("read what oslat wrote: %w", err)
	}
	t, ok := d.Thread["0"]
	if !ok || t.Duration <= 0 || len(t.Histogram) == 0 {
		return r, "", fmt.Errorf("read what oslat wrote: no gaps of thread 0: %.200s", text)
	}
	labels := make(map[string]float64, len(t.Histogram))
	first := -1.0
	for label := range t.Histogram {
		us, err := strconv.ParseFloat(label, 64)
		if err != nil {
			return r, "", fmt.Errorf("read what oslat wrote: label %q is no number of us", label)
		}
		if labels[label] = us; first < 0 || us < first {
			first = us
		}
	}
	for label, n := range t.Histogram {
		us := labels[label] - (first - t.Min)
		for i, b := range bounds {
			if us > float64(b/time.Microsecond) {
				r[i] += float64(n) / t.Duration
			}
		}
	}
	return r, d.Version, nil
}

// near is how far the medians of the short gaps may lie apart, and longestLook
// how long one look of the probe may take.
const (
	near        = 0.20
	longestLook = 12 // ns
)

// write writes the page.
func (e *oslat) write(p *harness.Page, c *comparison) {
	p.Para("oslat of rt-tests %s and the probe in turns on CPU %d, %d runs of %v each, both at normal priority, nothing else to do on the machine. "+
		"Gaps per second: median (quartiles).", c.version, e.cpu, e.rounds, e.span)
	rows := harness.NewTable("at least | oslat | probe | probe / oslat | wanted | ")
	for i, b := range bounds {
		at := func(r rates) float64 { return r[i] }
		theirs, ours := harness.Each(c.oslat, at), harness.Each(c.probe, at)
		v := compareMedians(i, theirs, ours)
		rows.Row("%d us | %s | %s | %s | %s | %s", b.Microseconds(), quartiles(theirs), quartiles(ours), v.ratio, v.wanted, harness.Met(v.met))
	}
	p.Table(rows)
	loop := harness.Quantile(c.loop, 1)
	p.Para("A look of the probe takes %.2f ns, %.2f in the worst run (wanted: at most %d; %s). Looks and gaps together make up %.3f %% of the time.",
		harness.Median(c.loop), loop, longestLook, harness.Met(loop <= longestLook), 100*harness.Median(c.balance))
	p.Para("oslat rounds up to whole microseconds and has no timestamps; the probe has both ends of each gap on CLOCK_MONOTONIC.")
}

type verdict struct {
	ratio, wanted string
	met           bool
}

// compareMedians compares the medians for one of the bounds. Short gaps are many, and come
// from the machine's own ticks. The longest are so few that two runs of oslat differ, too:
// there the medians may be as far apart as those runs.
func compareMedians(i int, theirs, ours []float64) verdict {
	o, p := harness.Median(theirs), harness.Median(ours)
	v := verdict{ratio: "n/a"}
	if o > 0 {
		v.ratio = fmt.Sprintf("%.2f", p/o)
	}
	if i < len(bounds)-1 {
		v.wanted, v.met = fmt.Sprintf("within %.0f %%", 100*near), math.Abs(p-o) <= near*o
		return v
	}
	span := harness.Quantile(theirs, 1) - harness.Quantile(theirs, 0)
	v.wanted = fmt.Sprintf("%.1f/s apart at most, the spread of oslat", span)
	v.met = math.Abs(p-o) <= span
	return v
}

func quartiles(v []float64) string {
	return fmt.Sprintf("%.1f (%.1f to %.1f)", harness.Median(v), harness.Quantile(v, 0.25), harness.Quantile(v, 0.75))
}
