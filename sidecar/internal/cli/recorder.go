package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/hungcall"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/doctor"
	"github.com/otelgc/otelgc/stall"
)

const (
	// maxExamined bounds the processes that doctor examines for a recording.
	maxExamined = 64
	// examineLimit bounds how long the end of a recording waits for doctor.
	examineLimit = 2 * time.Second
)

// recorder writes what a run sees into a file. A nil one does nothing.
type recorder struct {
	path  string
	file  *recording.Writer
	clock stall.Clock
	log   *slog.Logger

	// Of the reader of the probes:
	probes []*jitterprobe.Probe // their IDs are those of their places, from 1
	byCPU  map[int32]int        // IDs
	failed bool                 // that was logged

	mu       sync.Mutex
	examined map[int]bool // processes by PID
	full     bool         // that there are too many of them was logged
	waiting  chan int     // has room for all of them
	examiner sync.WaitGroup
	ctx      context.Context // done when the recording waits for doctor no longer
	cancel   context.CancelFunc
}

// newRecorder makes the file. It returns nil for no path.
func newRecorder(path, workload string, clock stall.Clock, log *slog.Logger) (*recorder, error) {
	if path == "" {
		return nil, nil
	}
	e := recording.Environment{Recorder: "otelgc-sidecar " + version(), Started: time.Now(), At: clock.Now(), Workload: workload}
	e.Machine, e.OS = recording.Describe(os.DirFS("/"))
	if id, err := stall.BootID(); err == nil {
		e.BootID = id
	}
	file, err := recording.Create(path, e)
	switch open := (*fs.PathError)(nil); {
	case errors.Is(err, fs.ErrExist):
		return nil, wrong("--record %s: %w: name another, or remove it", path, fs.ErrExist)
	case errors.As(err, &open) && open.Op == "open":
		return nil, wrong("--record %s: %w: name a file in a directory that this user may write to", path, open.Err)
	case err != nil:
		return nil, err
	}
	r := &recorder{path: path, file: file, clock: clock, log: log, byCPU: make(map[int32]int), examined: make(map[int]bool), waiting: make(chan int, maxExamined)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// discard takes the file away: the run has not begun.
func (r *recorder) discard() error {
	if r == nil {
		return nil
	}
	r.cancel()
	return errors.Join(r.file.Close(), os.Remove(r.path))
}

// name records the probes, before they are read.
func (r *recorder) name(threshold time.Duration, probes []*jitterprobe.Probe) {
	if r == nil {
		return
	}
	r.probes = probes
	for i, p := range probes {
		r.byCPU[int32(p.CPU())] = i + 1
		r.file.Add(recording.Probe{ID: i + 1, Mode: p.Mode().String(), CPU: p.CPU(), Floor: threshold, Note: p.Note()})
		threshold = jitterprobe.DefaultPeriodicThreshold // that of the others
	}
}

// begin has doctor examine this machine, and from then on the target and the processes
// that are found.
func (r *recorder) begin(target int) {
	if r == nil {
		return
	}
	// The self-test of doctor would be in the way of the probe, so there is none.
	report, err := doctor.Run(doctor.Options{Probe: r.probes[0]})
	r.addReport(0, report, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.examine(target)
	r.examiner.Go(func() {
		var calls hungcall.Limiter
		for pid := range r.waiting {
			o := doctor.Options{Probe: r.probes[0], Target: pid, TargetOnly: true}
			report, err := hungcall.Do(r.ctx, &calls, pid, func() (*doctor.Report, error) { return doctor.Run(o) })
			r.addReport(pid, report, err)
		}
	})
}

// examine has doctor look at a process; 0 is none. Each process is examined once. The
// mutex is held.
func (r *recorder) examine(pid int) {
	switch {
	case pid == 0 || r.examined[pid]:
	case len(r.examined) < maxExamined:
		r.examined[pid] = true
		r.waiting <- pid
	case !r.full:
		r.full = true
		r.log.Warn("doctor does not examine any more processes for the recording", "at_most", maxExamined)
	}
}

func (r *recorder) addReport(target int, report *doctor.Report, err error) {
	var document []byte
	if err == nil {
		document, err = json.Marshal(report)
	}
	if err != nil {
		r.log.Warn("the recording lacks a report of doctor", "target", target, "error", err)
		return
	}
	r.file.Add(recording.Doctor{RawMessage: document})
}

// add records what is not of the probes, from any goroutine, and not after close.
func (r *recorder) add(o recording.Record) {
	if v, is := o.(recording.Target); is {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.examine(v.PID)
	}
	r.file.Add(o)
}

// adder returns add, nil if nothing is recorded.
func (r *recorder) adder() func(recording.Record) {
	if r == nil {
		return nil
	}
	return r.add
}

// gap records a gap.
func (r *recorder) gap(g jitterprobe.Gap) {
	if r == nil {
		return
	}
	id := r.byCPU[g.CPU]
	if g.Evidence.Witness == jitterprobe.EveryCPU {
		id = recording.AllProbes
	}
	r.file.Gap(id, g)
}

// report records how far the probes are.
func (r *recorder) report(now stall.Instant) {
	if r == nil {
		return
	}
	if err := r.file.Err(); err != nil && !r.failed {
		r.failed = true
		r.log.Warn("the recording ends here", "error", err)
	}
	for i, p := range r.probes {
		s := p.Seen()
		r.file.Add(recording.Status{
			Source: "probe." + p.Mode().String(), Probe: i + 1, At: now, Watermark: s.Watermark,
			Dropped: s.Dropped, DroppedTime: s.DroppedTime, Unrecorded: r.file.Dropped(),
		})
	}
}

// close ends the recording, after all was read; add must not be called any more. The
// recording ends where the first probe did: later time was not watched, and the kernel
// may take seconds to end its tracing. It does not wait for a process whose files never
// answer.
func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	defer r.cancel()
	defer time.AfterFunc(examineLimit, r.cancel).Stop()
	close(r.waiting)
	r.examiner.Wait()
	end := r.probes[0].Seen().Watermark
	r.report(end)
	r.file.Add(recording.End{At: end})
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("the recording is not whole: %w", err)
	}
	return nil
}

// examineForReport runs doctor for the report on a recording that has no report of it,
// on this machine, or on a process that ran when the recording began.
func examineForReport(made recording.Environment, probe recording.Probe, pid int) (json.RawMessage, error) {
	o := doctor.Options{Target: pid, TargetOnly: pid != 0, SelfTest: -1}
	o.Mode, _ = jitterprobe.ParseMode(probe.Mode) // without one, as for one that spins
	if probe.CPU >= 0 {
		o.CPU = &probe.CPU
	}
	ctx, cancel := context.WithTimeout(context.Background(), examineLimit)
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
	stat, err := proc.ReadStat(root, strconv.Itoa(pid))
	if err != nil {
		return err
	}
	const rounding = 2 * time.Second // of the boot time, and of the tick
	if created, err := proc.StartTime(root, stat.Created); err != nil || created.After(at.Add(rounding)) {
		return fmt.Errorf("process %d: %w", pid, doctor.ErrTarget)
	}
	return nil
}
