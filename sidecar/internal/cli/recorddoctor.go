package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/hungcall"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/doctor"
)

const (
	// maxExamined bounds the processes that the doctor is asked about in a recording.
	maxExamined = 64
	// examinedIn bounds how long the end of a recording waits for him.
	examinedIn = 2 * time.Second
)

// round is the doctor's, among the processes that are watched: he looks at each
// once, at one after the other.
type round struct {
	known   map[int]bool // by PID
	waiting []int
	under   bool // way
	full    bool // that was said
	work    sync.WaitGroup

	calls  hungcall.Limiter
	ctx    context.Context // done when nobody waits for him any longer; nil before the first
	cancel context.CancelFunc
}

// add has the doctor look at a process, 0 for none. It reports false for one too
// many.
func (r *round) add(pid int) bool {
	if pid == 0 || r.known[pid] {
		return true
	}
	if len(r.known) == maxExamined {
		return false
	}
	if r.known == nil {
		r.known = make(map[int]bool)
	}
	r.known[pid] = true
	r.waiting = append(r.waiting, pid)
	return true
}

// next takes the process that has waited longest, or ends the round.
func (r *round) next() (pid int, ok bool) {
	if len(r.waiting) == 0 {
		r.under = false
		return 0, false
	}
	pid, r.waiting = r.waiting[0], r.waiting[1:]
	return pid, true
}

// examine has the doctor look at a process, once there is a file. The mutex is
// held.
func (r *recorder) examine(pid int) {
	if !r.doctor.add(pid) && !r.doctor.full {
		r.doctor.full = true
		r.log.Warn("the doctor is not asked about any more processes", "at_most", maxExamined)
	}
	if r.file != nil && len(r.doctor.waiting) > 0 && !r.doctor.under {
		r.doctor.under = true
		if r.doctor.ctx == nil {
			r.doctor.ctx, r.doctor.cancel = context.WithCancel(context.Background())
		}
		r.doctor.work.Go(r.goRound)
	}
}

// awaitDoctor waits for the doctor, but not for a process whose files never answer.
func (r *recorder) awaitDoctor() {
	r.mu.Lock()
	cancel := r.doctor.cancel
	r.mu.Unlock()
	if cancel == nil {
		return
	}
	defer cancel()
	defer time.AfterFunc(examinedIn, cancel).Stop()
	r.doctor.work.Wait()
}

// goRound has the doctor look at those that wait.
func (r *recorder) goRound() {
	for {
		r.mu.Lock()
		pid, ok := r.doctor.next()
		file, p := r.file, r.probe
		r.mu.Unlock()
		if !ok {
			return
		}
		o := doctor.Options{Probe: p, Target: pid, TargetOnly: true}
		report, err := hungcall.Do(r.doctor.ctx, &r.doctor.calls, pid, func() (*doctor.Report, error) { return doctor.Run(o) })
		r.answer(file, pid, report, err)
	}
}

// askAboutMachine records what the doctor says of this machine. His self-test would
// be in the way of the probe.
func (r *recorder) askAboutMachine(file *recording.Writer, p *jitterprobe.Probe) {
	report, err := doctor.Run(doctor.Options{Probe: p})
	r.answer(file, 0, report, err)
}

func (r *recorder) answer(file *recording.Writer, target int, report *doctor.Report, err error) {
	var document []byte
	if err == nil {
		document, err = json.Marshal(report)
	}
	if err != nil {
		r.log.Warn("the recording lacks answers of the doctor", "target", target, "error", err)
		return
	}
	file.Add(recording.Doctor{RawMessage: document})
}

// askForReport asks the doctor, for the report on a recording, about this machine or
// about a process that ran when the recording began.
func askForReport(made recording.Environment, probe recording.Probe, pid int) (json.RawMessage, error) {
	o := doctor.Options{Target: pid, TargetOnly: pid != 0, SelfTest: -1}
	o.Mode, _ = jitterprobe.ParseMode(probe.Mode) // without one, as for one that spins
	if probe.CPU >= 0 {
		o.CPU = &probe.CPU
	}
	ctx, cancel := context.WithTimeout(context.Background(), examinedIn)
	defer cancel()
	report, err := hungcall.Do(ctx, nil, pid, func() (*doctor.Report, error) {
		if err := ranAt(pid, made.Started); err != nil {
			return nil, err
		}
		return doctor.Run(o)
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(report)
}

// ranAt returns an error if the process with this PID was created after at, and is
// another one than had the PID then.
func ranAt(pid int, at time.Time) error {
	if pid == 0 {
		return nil
	}
	root := os.DirFS("/")
	ticks, err := proc.StartTicks(root, strconv.Itoa(pid))
	if err != nil {
		return err
	}
	const rounding = 2 * time.Second // of the boot time, and of the tick
	if created, err := proc.StartTime(root, ticks); err != nil || created.After(at.Add(rounding)) {
		return fmt.Errorf("process %d: %w", pid, doctor.ErrTarget)
	}
	return nil
}
