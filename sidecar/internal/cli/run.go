package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/hungcall"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/gaps"
	"github.com/otelgc/otelgc/sidecar/internal/page"
	"github.com/otelgc/otelgc/sidecar/internal/target"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

// defineRun is the command that probes, writes the board for the services of this host,
// and exports, until a signal or --duration ends it.
func defineRun(set *flag.FlagSet) func(env) error {
	options := defineProbing(set)
	cpus := set.String("watch-cpus", "", "wake once a millisecond on each of these `CPUs` too, such as 0-7, at about 4 % of each:\na gap that all CPUs have in common is the machine's")
	duration := set.Duration("duration", 0, "how long; 0 is until SIGINT, SIGTERM or SIGHUP")
	path := set.String("board", "", "the `file` through which services learn of gaps, or off; without it\n$OTELGC_BOARD, else /run/otelgc/board, or /dev/shm/otelgc/board if this user may not make that")
	record := set.String("record", "", "write what is seen into this `file`, for report")
	workload := set.String("workload", "", "with --record: what runs on the machine, for the readers of the report")
	pageAt := set.String("page", "", "serve a page for a browser at this `address` of the loopback interface, such as 127.0.0.1:8081 (port 0: any\nthat is free): the gaps of the machine and the pauses of each target, live, and the same as data.json.\nIt shows command lines to every user of this machine")
	gapCPU := set.Bool("gap-cpu", false, "put cpu.logical_number on the metric otelgc.jitter.gap.duration: a series for each CPU that is probed")
	var targets targetFlags
	targets.add(set)
	return func(e env) (err error) {
		s := &sidecar{env: e, log: e.log(), recordTo: *record, workload: *workload, gapCPU: *gapCPU, pageAt: *pageAt, boards: board.Paths()}
		if err := e.notEmpty("target", "listen-diagnostics", "board", "record", "page"); err != nil {
			return err
		}
		if *pageAt != "" {
			if err := page.CheckAddress(*pageAt); err != nil {
				return wrong("--page %s: %w", *pageAt, err)
			}
		}
		if s.probe, err = options(e); err != nil {
			return err
		}
		if *duration < 0 {
			return wrong("--duration %v: want 0s or more", *duration)
		}
		if err := targets.check(); err != nil {
			return err
		}
		s.targets = targets
		if s.cpus, err = proc.ParseCPUs(*cpus); err != nil {
			return wrong("--watch-cpus: %w", err)
		}
		if e.given("board") {
			s.boards, s.needBoard = []string{*path}, true
			if *path == board.Off {
				s.boards = nil
			}
		}
		if *workload != "" && *record == "" {
			return wrong("--workload: want --record, too")
		}
		report, err := s.run(*duration)
		if report == nil || !*e.json {
			return err
		}
		return errors.Join(err, e.print(func() any {
			return runDocument{report.Document(), s.side.document(), s.seen, s.unexported}
		}, nil))
	}
}

// runDocument is the JSON document of run: that of its probe, what the machine
// did to the target, the processes it attached to, and what of its own telemetry
// never reached a Collector.
type runDocument struct {
	gaps.Document
	Host       *recording.Host     `json:"target_host,omitempty"`
	Targets    []target.Summary    `json:"targets,omitempty"`
	Unexported *otelenv.Unexported `json:"not_exported,omitempty"`
}

// stopLimit bounds the end of run, whatever the Collector does, and however long the
// kernel takes to end its tracing: a second where the machine is busy. What is held
// has flushAtLeast to go out in any case.
const (
	stopLimit    = 4 * time.Second
	flushAtLeast = time.Second
)

// sidecar is a run.
type sidecar struct {
	env
	log                *slog.Logger
	probe              jitterprobe.Options
	cpus               []int    // CPUs that have a probe of their own
	boards             []string // where the board may be; none for no board
	needBoard          bool     // it was asked for by name
	gapCPU             bool     // on the metric of gaps, too
	recordTo, workload string
	pageAt             string // empty for none
	targets            targetFlags

	errors    *otelenv.ErrorHandler
	providers *otelenv.Providers
	export    *export
	record    *recorder // nil for none
	page      livePage  // the zero one for none
	watch     *watch.Watch
	over      chan struct{}   // closed when all of the watch was read
	side      *hostSide       // nil for none
	watcher   *target.Watcher // nil for none
	calls     hungcall.Limiter
	gaps      gaps.Log

	// What there is at the end.
	seen       []target.Summary
	unexported *otelenv.Unexported // nil for nothing
}

func (s *sidecar) run(duration time.Duration) (*gaps.Report, error) {
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	s.wait(duration)
	return s.end()
}

// start starts all there is. After an error some of it has started.
func (s *sidecar) start() error {
	s.errors = otelenv.NewErrorHandler(s.log)
	otel.SetErrorHandler(s.errors)
	clock, err := stall.NewClock()
	if err != nil {
		return fmt.Errorf("start clock: %w", err)
	}
	s.probe.Clock = clock
	if err = s.page.listen(s.pageAt); err != nil {
		return err
	}
	if s.record, err = newRecorder(s.recordTo, s.workload, clock, s.log); err != nil {
		return err
	}
	if s.providers, err = otelenv.Start(s.ctx, otelenv.Options{ServiceName: "otelgc-sidecar", UniqueKeys: true}); err != nil {
		return fmt.Errorf("start export: %w", err)
	}
	if s.export, err = newExport(s.providers, clock, s.gapCPU); err != nil {
		return err
	}
	s.page.serve(s)
	pid := s.targets.selector.PID()
	if err := s.startProbes(); err != nil {
		return err
	}
	if s.watch.Probes()[0].Mode() == jitterprobe.Spin && len(s.cpus) == 0 {
		setTimerSlack("/proc", timerSlack)
	}
	s.logStart()
	if s.side, err = startHostSide(pid, s.log, clock, s.watch, s.export.telemetry, s.keeper()); err != nil {
		return err
	}
	if s.watcher, err = s.targets.start(s, clock); err != nil {
		return err
	}
	s.record.begin(pid)
	return nil
}

// startProbes starts the probes, and reads them.
func (s *sidecar) startProbes() error {
	first, err := start(s.probe)
	if err != nil {
		return err
	}
	var others []*jitterprobe.Probe
	for _, cpu := range s.cpus {
		if cpu == first.CPU() {
			continue // of two probes on one CPU the second is left out
		}
		// Its threshold is that of its mode.
		p, err := start(jitterprobe.Options{Mode: jitterprobe.Periodic, CPU: &cpu, Clock: s.probe.Clock})
		if err != nil {
			for _, p := range append(others, first) {
				p.Stop()
			}
			return fmt.Errorf("watch CPU %d: %w", cpu, err)
		}
		others = append(others, p)
	}
	s.record.name(threshold(s.probe, first.Mode()), append([]*jitterprobe.Probe{first}, others...))
	s.watch, err = watch.Start(watch.Options{Probe: first, Others: others, Boards: s.boards, NeedBoard: s.needBoard, Clock: s.probe.Clock})
	if errors.Is(err, board.ErrForeign) { // asked for by name, or it would run without
		return wrong("--board: %w", err)
	}
	if err != nil {
		return err
	}
	s.over = make(chan struct{})
	go s.read()
	return nil
}

// read exports and records what the probes see until they have ended, and once a second
// how far they are.
func (s *sidecar) read() {
	defer close(s.over)
	last := stall.Instant(0)
	for {
		b, err := s.watch.Next(context.Background())
		if err == io.EOF {
			return
		}
		if err != nil {
			s.log.Warn("the probe did not end in good order", "error", err)
		}
		for _, g := range s.watch.Gaps() {
			if *s.json { // the document lists them
				s.gaps.Add(g)
			}
			s.export.telemetry.Gap(g.Interval, g.Evidence.String)
			s.record.gap(g)
			s.page.Gap(g)
		}
		if now := s.probe.Clock.Now(); b.Watermark != 0 && now.Sub(last) >= statusEvery {
			last = now
			s.export.report(s.watch, now)
			s.record.report(now)
			s.page.report(s)
		}
	}
}

// end stops everything, and does not wait for a Collector that is dead. The error
// is of the recording: the run was made for it.
func (s *sidecar) end() (*gaps.Report, error) {
	began := time.Now()
	s.page.close()
	s.side.stop()
	var others sync.WaitGroup
	if s.watcher != nil {
		others.Go(func() { s.seen = s.watcher.Stop() })
	}
	if err := s.watch.Close(); err != nil {
		s.log.Warn("the probe did not end in good order", "error", err)
	}
	<-s.over
	s.export.report(s.watch, s.probe.Clock.Now())
	if err := s.export.telemetry.Close(); err != nil {
		s.log.Warn("not all events were sent", "error", err)
	}
	s.errors.Mute(true)
	ctx, cancel := context.WithTimeout(context.Background(), flushFor(time.Since(began)))
	defer cancel()
	if s.unexported = s.providers.Unexported(s.providers.Shutdown(ctx)); s.unexported != nil {
		s.log.Warn("not all telemetry was exported", s.unexported.Facts()...)
	}
	others.Wait()
	if n := s.calls.Left(); n > 0 {
		s.log.Warn("gave up reading files of processes: their file system or memory did not answer", "reads", n)
	}
	err := s.record.close()
	first := s.watch.Probes()[0]
	r := gaps.NewReport(first.Stop(), &s.gaps, threshold(s.probe, first.Mode()))
	r.Limits = first.Limits()
	s.log.Info("done", "probed", textfmt.Length(r.Observed()), "gaps", r.Gaps, "gap_time", textfmt.Length(r.GapTime),
		"longest_gap", textfmt.Length(r.Longest.Duration()), "gaps_dropped", r.Dropped)
	return r, err
}

// abandon stops what start has started before its error, and exports nothing.
func (s *sidecar) abandon() (err error) {
	s.errors.Mute(true)
	s.page.close()
	s.side.abandon()
	if s.watcher != nil {
		s.watcher.Stop()
	}
	if s.watch != nil {
		err = s.watch.Close()
		<-s.over
	}
	if s.export != nil {
		err = errors.Join(err, s.export.telemetry.Close())
	}
	if s.providers != nil {
		s.providers.Discard()
	}
	return errors.Join(err, s.record.discard())
}

// flushFor returns how long the providers have to end, when ending all else took so
// long.
func flushFor(spent time.Duration) time.Duration { return max(stopLimit-spent, flushAtLeast) }

func (s *sidecar) logStart() {
	p := s.watch.Probes()[0]
	s.log.Info("probing", "mode", p.Mode().String(), "cpu", p.CPU(), "threshold", threshold(s.probe, p.Mode()).String())
	if n := p.Note(); n != "" {
		s.log.Warn("the probe does not run as asked", "why", n)
	}
	for _, l := range p.Limits() {
		s.log.Info("some causes of gaps cannot be decided", "limit", l.String())
	}
	if others := s.watch.Probes()[1:]; len(others) > 0 {
		s.log.Info("probing other CPUs", "mode", jitterprobe.Periodic.String(), "cpus", fmt.Sprint(watch.CPUs(others...)))
		if !s.watch.AllCPUs() {
			s.log.Warn("no gap can be called the machine's: not every CPU has a probe", "hint", "name all that are online in --watch-cpus")
		}
	}
	switch path, why := s.watch.Board(); {
	case path != "":
		s.log.Info("writing the board", "path", path)
	case len(s.boards) > 0:
		s.log.Warn("running without the board: services do not learn of gaps", "why", why)
	}
}

// timerSlack is how late the kernel may wake a thread whose sleep is over, in
// place of 50 us (PR_SET_TIMERSLACK, prctl(2)), if the probe spins: then no thread has
// to wake in time. While one works, the monitor of the Go runtime sleeps for
// 20 us again and again, and interrupts it each time: that was most of the
// wake-ups of a sidecar at rest, and a third of its CPU time.
const timerSlack = time.Millisecond

// setTimerSlack sets the timer slack of all threads of this process, which those
// to come inherit. It takes Linux and CAP_SYS_NICE: elsewhere nothing changes.
func setTimerSlack(proc string, d time.Duration) {
	threads, err := os.ReadDir(filepath.Join(proc, "self/task"))
	if err != nil {
		return
	}
	text := strconv.AppendInt(nil, int64(d), 10)
	for _, t := range threads {
		f, err := os.OpenFile(filepath.Join(proc, t.Name(), "timerslack_ns"), os.O_WRONLY, 0)
		if err != nil {
			continue // the thread has ended, or the kernel is older than 4.6
		}
		_, _ = f.Write(text) // it is refused without the right to
		_ = f.Close()        // and written at once
	}
}
