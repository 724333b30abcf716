package verb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/doctor"
	"github.com/otelgc/otelgc/sidecar/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// recorder writes what a run sees into a file. A nil one does nothing.
type recorder struct {
	path, workload string
	clock          stall.Clock
	log            *slog.Logger

	mu     sync.Mutex
	file   *recording.Writer // nil until begin
	source stall.Source      // of the first probe: gaps on other CPUs are not recorded
	cpu    int32
	early  []jitterprobe.Gap  // before it
	others []recording.Record // before it
	status stall.Instant      // when the last one was written
	failed bool               // that was said
}

// newRecorder returns nil for no path.
func newRecorder(path, workload string, clock stall.Clock, log *slog.Logger) *recorder {
	if path == "" {
		return nil
	}
	return &recorder{path: path, workload: workload, clock: clock, log: log}
}

// begin makes the file, once it is known how the probe runs.
func (r *recorder) begin(p *jitterprobe.Probe, threshold time.Duration) error {
	if r == nil {
		return nil
	}
	e := recording.Environment{
		Sidecar: version(), Started: time.Now(), At: r.clock.Now(), Workload: r.workload,
		Probe: p.Mode().String(), CPU: p.CPU(), Floor: threshold,
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
	r.ask(file, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file, r.source, r.cpu = file, p.Mode().Source(), int32(p.CPU())
	for _, g := range r.early {
		r.write(g)
	}
	for _, o := range r.others {
		file.Add(o)
	}
	r.early, r.others = nil, nil
	return nil
}

// add records what is not of the probe. It is called before begin, too, from any
// goroutine, and not after close.
func (r *recorder) add(o recording.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.file != nil:
		r.file.Add(o)
	case len(r.others) < recording.MaxPending:
		r.others = append(r.others, o)
	}
}

// adder returns add, nil if nothing is recorded.
func (r *recorder) adder() func(recording.Record) {
	if r == nil {
		return nil
	}
	return r.add
}

func (r *recorder) write(g jitterprobe.Gap) {
	if g.CPU == r.cpu {
		r.file.Gap(recording.Gap{Start: g.Start, End: g.End, Cause: g.Cause, Scope: g.Scope, CPU: g.CPU})
	}
}

// ask records what the doctor says of this machine. His self-test would be in
// the way of the probe.
func (r *recorder) ask(file *recording.Writer, p *jitterprobe.Probe) {
	report, err := doctor.Run(doctor.Options{Probe: p})
	if err != nil {
		r.log.Warn("the recording has no answers of the doctor", "error", err)
		return
	}
	document, err := json.Marshal(report)
	if err != nil {
		r.log.Warn("the recording has no answers of the doctor", "error", err)
		return
	}
	file.Add(recording.Doctor{RawMessage: document})
}

// gap records a gap. It is called before begin, too.
func (r *recorder) gap(g jitterprobe.Gap) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.file != nil:
		r.write(g)
	case len(r.early) < recording.MaxPending:
		r.early = append(r.early, g)
	}
}

// settled says once a second how far the probe is.
func (r *recorder) settled(s jitterprobe.Snapshot) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if r.file == nil || now.Sub(r.status) < statusEvery {
		return
	}
	r.status = now
	r.tell(now, s)
}

func (r *recorder) tell(now stall.Instant, s jitterprobe.Snapshot) {
	if err := r.file.Err(); err != nil && !r.failed {
		r.failed = true
		r.log.Warn("the recording ends here", "error", err)
	}
	r.file.Add(recording.Status{
		Source: r.source.String(), At: now, Watermark: s.Watermark,
		Dropped: s.Dropped, DroppedTime: s.DroppedTime, Unrecorded: r.file.Dropped(),
	})
}

// close says the last word, when nobody adds any more. The probe ended at the
// instant: what came later, nobody watched for.
func (r *recorder) close(s jitterprobe.Snapshot, at stall.Instant) error {
	if r == nil || r.file == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(at, s)
	r.file.Add(recording.End{At: at})
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("end recording: %w", err)
	}
	return nil
}

// version returns that of this program, as its build says.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
