package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/hungcall"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/doctor"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
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
	path, workload string
	clock          stall.Clock
	log            *slog.Logger

	mu     sync.Mutex
	file   *recording.Writer // nil until begin
	probe  *jitterprobe.Probe
	probes []recording.Probe // the first, and the others
	byCPU  map[int32]int     // their IDs
	// What came before there was a file: as much of each as a file lets wait for the disk.
	earlyGaps []jitterprobe.Gap
	early     []recording.Record
	lost      uint64 // of both, for want of room
	others    []jitterprobe.Snapshot
	status    stall.Instant // when the last one was written
	failed    bool          // that was logged

	examined map[int]bool // processes by PID
	full     bool         // that there are too many of them was logged
	waiting  chan int     // has room for all of them
	examiner sync.WaitGroup
	ctx      context.Context // done when the recording waits for doctor no longer
	cancel   context.CancelFunc
}

// newRecorder returns nil for no path.
func newRecorder(path, workload string, target int, clock stall.Clock, log *slog.Logger) *recorder {
	if path == "" {
		return nil
	}
	r := &recorder{path: path, workload: workload, clock: clock, log: log, examined: make(map[int]bool), waiting: make(chan int, maxExamined)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.examine(target)
	return r
}

// checkRecord finds out before anything starts whether there can be such a file.
func checkRecord(path string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return wrong("--record %s: %w: name another, or remove it", path, fs.ErrExist)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return wrong("--record %s: %w", path, err)
	}
	// In the open directory, so that what is removed is what was made.
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return wrong("--record %s: %w", path, err)
	}
	defer func() { _ = dir.Close() }() // nothing is written through it
	name := filepath.Base(path)
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return wrong("--record %s: %w: name a file in a directory that this user may write to", path, err)
	}
	return errors.Join(f.Close(), dir.Remove(name)) // it is made when there is something to record
}

// begin makes the file, once it is known how the probes run.
func (r *recorder) begin(w *watch.Watch, threshold time.Duration) error {
	if r == nil {
		return nil
	}
	p := w.Probe()
	e := recording.Environment{
		Recorder: "otelgc-sidecar " + version(), Started: time.Now(), At: r.clock.Now(), Workload: r.workload,
	}
	e.Machine, e.OS = recording.Describe(os.DirFS("/"))
	if id, err := stall.BootID(); err == nil {
		e.BootID = id
	}
	file, err := recording.Create(r.path, e)
	switch {
	case errors.Is(err, fs.ErrExist):
		return wrongArgument{err}
	case err != nil:
		return err
	}
	// The self-test of doctor would be in the way of the probe, so there is none.
	report, err := doctor.Run(doctor.Options{Probe: p})
	r.addReport(file, 0, report, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start(file, p)
	r.probes = []recording.Probe{{ID: 1, Mode: p.Mode().String(), CPU: p.CPU(), Floor: threshold, Note: p.Note()}}
	cpus, _ := w.Others()
	for i, cpu := range cpus {
		r.probes = append(r.probes, recording.Probe{
			ID: 2 + i, Mode: jitterprobe.Periodic.String(), CPU: cpu, Floor: jitterprobe.DefaultPeriodicThreshold,
		})
	}
	r.byCPU = make(map[int32]int)
	for _, q := range r.probes {
		r.byCPU[int32(q.CPU)] = q.ID
		file.Add(q)
	}
	for _, g := range r.earlyGaps {
		r.write(g)
	}
	for _, o := range r.early {
		file.Add(o)
	}
	r.earlyGaps, r.early = nil, nil
	return nil
}

// start begins to write, and to examine processes.
func (r *recorder) start(file *recording.Writer, p *jitterprobe.Probe) {
	r.file, r.probe = file, p
	r.examiner.Go(func() {
		var calls hungcall.Limiter
		for pid := range r.waiting {
			o := doctor.Options{Probe: p, Target: pid, TargetOnly: true}
			report, err := hungcall.Do(r.ctx, &calls, pid, func() (*doctor.Report, error) { return doctor.Run(o) })
			r.addReport(file, pid, report, err)
		}
	})
}

// examine has doctor look at a process, once there is a file; 0 is none. Each process
// is examined once. The mutex is held, but by newRecorder.
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

func (r *recorder) addReport(file *recording.Writer, target int, report *doctor.Report, err error) {
	var document []byte
	if err == nil {
		document, err = json.Marshal(report)
	}
	if err != nil {
		r.log.Warn("the recording lacks a report of doctor", "target", target, "error", err)
		return
	}
	file.Add(recording.Doctor{RawMessage: document})
}

// keep appends v to a list of bounded length.
func keep[T any](list *[]T, v T, lost *uint64) {
	if len(*list) == recording.MaxPending {
		*lost++
		return
	}
	*list = append(*list, v)
}

// add records what is not of the probes. It may be called before begin, from any
// goroutine, and not after close.
func (r *recorder) add(o recording.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, is := o.(recording.Target); is {
		r.examine(v.PID)
	}
	if r.file == nil {
		keep(&r.early, o, &r.lost)
		return
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

// gap records a gap. It may be called before begin.
func (r *recorder) gap(g jitterprobe.Gap) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		keep(&r.earlyGaps, g, &r.lost)
		return
	}
	r.write(g)
}

func (r *recorder) write(g jitterprobe.Gap) {
	id := r.byCPU[g.CPU]
	if g.Evidence.Witness == jitterprobe.EveryCPU {
		id = recording.AllProbes
	}
	r.file.Gap(id, g)
}

// settled records once a second how far the probes are.
func (r *recorder) settled(first jitterprobe.Snapshot, others []jitterprobe.Snapshot) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.others = slices.Clone(others)
	now := r.clock.Now()
	if r.file == nil || now.Sub(r.status) < statusEvery {
		return
	}
	r.status = now
	r.writeStatus(now, first)
}

func (r *recorder) writeStatus(now stall.Instant, first jitterprobe.Snapshot) {
	if err := r.file.Err(); err != nil && !r.failed {
		r.failed = true
		r.log.Warn("the recording ends here", "error", err)
	}
	for i, s := range append([]jitterprobe.Snapshot{first}, r.others...) {
		p := &r.probes[i]
		r.file.Add(recording.Status{
			Source: "probe." + p.Mode, Probe: p.ID, At: now, Watermark: s.Watermark,
			Dropped: s.Dropped, DroppedTime: s.DroppedTime, Unrecorded: r.file.Dropped() + r.lost,
		})
	}
}

// close ends the recording, when nobody adds any more. It ends where the probe did:
// nobody watched later, and for the kernel to end its tracing may take seconds. It does
// not wait for a process whose files never answer.
func (r *recorder) close(s jitterprobe.Snapshot) error {
	if r == nil || r.file == nil {
		return nil
	}
	defer r.cancel()
	defer time.AfterFunc(examineLimit, r.cancel).Stop()
	close(r.waiting)
	r.examiner.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeStatus(s.Watermark, s)
	r.file.Add(recording.End{At: s.Watermark})
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
