package cli

import (
	"errors"
	"flag"
	"log/slog"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/proc"
)

// run probes, tells the services of this host on the board, and exports, until
// it is told to end.
func run(e env, args []string) error {
	set := flag.NewFlagSet("run", flag.ContinueOnError)
	var flags probeFlags
	flags.add(set)
	cpus := set.String("watch-cpus", "", "wake once a millisecond on each of these `CPUs` too, such as 0-7, at about 4 % of each:\na gap that all CPUs have in common is the machine's")
	duration := set.Duration("duration", 0, "how long; 0 is until SIGINT, SIGTERM or SIGHUP")
	path := set.String("board", "", "the `file` through which services learn of gaps, or off; without it\n$OTELGC_BOARD, else /run/otelgc/board, and /dev/shm/otelgc/board for who may not make that")
	record := set.String("record", "", "write what is seen into this `file`, for report")
	workload := set.String("workload", "", "with --record: what runs beside, for whoever reads the report")
	gapCPU := set.Bool("gap-cpu", false, "put cpu.logical_number on the metric otelgc.jitter.gap.duration: a series for each CPU that is probed")
	var targets targetFlags
	targets.add(set)
	asJSON := set.Bool("json", false, "print one JSON document at the end")
	if err := parse(e, set, args); err != nil {
		return err
	}
	if err := notEmpty(set, "target", "listen-diagnostics", "board", "record"); err != nil {
		return err
	}
	o, err := flags.options()
	if err != nil {
		return err
	}
	if *duration < 0 {
		return wrong("--duration %v: want 0s or more", *duration)
	}
	if err := targets.check(); err != nil {
		return err
	}
	beside, err := proc.ParseCPUs(*cpus)
	if err != nil {
		return wrong("--watch-cpus: %w", err)
	}
	s := &sidecar{env: e, log: slog.New(slog.NewTextHandler(e.stderr, nil)), probe: o, beside: beside, boards: board.Paths()}
	if given(set, "board") {
		s.boards, s.needBoard = []string{*path}, true
		if *path == board.Off {
			s.boards = nil
		}
	}
	if *workload != "" && *record == "" {
		return wrong("--workload: want --record, too")
	}
	if err := checkRecord(*record); err != nil {
		return err
	}
	s.recordTo, s.workload = *record, *workload
	s.targets, s.keep, s.gapCPU = targets, *asJSON, *gapCPU
	report, err := s.run(*duration)
	if report != nil && *asJSON {
		err = errors.Join(err, printJSON(e, runDocument{report.Document(), s.side.document(), s.seen, s.unexported}))
	}
	return err
}
