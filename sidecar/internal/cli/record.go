package cli

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

// recorder writes what a run sees into a file. A nil one does nothing.
type recorder struct {
	path, workload string
	clock          stall.Clock
	log            *slog.Logger

	mu     sync.Mutex
	doctor round
	probe  *jitterprobe.Probe // nil until begin
	file   *recording.Writer  // nil until begin
	probes []recording.Probe  // the first, and those beside it
	byCPU  map[int32]int      // their IDs
	early  early
	beside []watched     // as the probes beside saw it last
	status stall.Instant // when the last one was written
	failed bool          // that was said
}

// newRecorder returns nil for no path.
func newRecorder(path, workload string, target int, clock stall.Clock, log *slog.Logger) *recorder {
	if path == "" {
		return nil
	}
	r := &recorder{path: path, workload: workload, clock: clock, log: log}
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
	r.askAboutMachine(file, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file, r.probe = file, p
	r.examine(0) // but those that were found meanwhile
	r.learn(w, threshold)
	gaps, records := r.early.take()
	for _, g := range gaps {
		r.write(g)
	}
	for _, o := range records {
		file.Add(o)
	}
	return nil
}

// learn gives each probe its ID.
func (r *recorder) learn(w *watch.Watch, threshold time.Duration) {
	p := w.Probe()
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
		r.file.Add(q)
	}
}

// add records what is not of the probes. It is called before begin, too, from any
// goroutine, and not after close.
func (r *recorder) add(o recording.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := o.(recording.Target); ok {
		r.examine(v.PID)
	}
	if r.file == nil {
		r.early.record(o)
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

func (r *recorder) write(g jitterprobe.Gap) {
	id := r.byCPU[g.CPU]
	if g.Evidence.Witness == jitterprobe.EveryCPU {
		id = recording.AllProbes
	}
	r.file.Gap(id, recording.GapOf(g))
}

// gap records a gap. It is called before begin, too.
func (r *recorder) gap(g jitterprobe.Gap) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		r.early.gap(g)
		return
	}
	r.write(g)
}

// version returns that of this program, as its build says.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
