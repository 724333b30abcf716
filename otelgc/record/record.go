// Package record has a service write down what is known of it, for
// otelgc-sidecar report: its garbage collections and other stops of the world,
// the gaps of a probe in its own process, the settings of its runtime, and the
// machine. A sidecar sees the machine; what share of its gaps a runtime makes itself
// only a probe inside of it can tell.
//
// Whether numbers of the machine can be believed, otelgc-sidecar report asks the
// doctor: make the report on that machine, before it boots again.
//
// The file survives a crash up to its last second. It is that of
// otelgc-sidecar run --record, which records what is outside.
package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// Options configure a Recorder. The zero value is a good recording.
type Options struct {
	// Workload says what runs, for whoever reads the report, such as "orders,
	// 2,000 requests/s".
	Workload string
	// Name is that of the service. Empty is $OTEL_SERVICE_NAME, or the program's.
	Name string
	// Probe is the mode of the probe inside. Auto is Periodic, which costs a few
	// percent of a CPU. Runtime tells more, and costs a CPU; in slices of exact
	// fidelity it also fills the trace with megabytes a second. A monitor that has
	// a probe of its own (otelgc.WithSource) does not record that one's gaps.
	Probe jitterprobe.Mode
}

// The IDs of what a recording of a service holds: one process and one probe.
const (
	self   = 1
	inside = 1
)

// Recorder is a recording under way.
type Recorder struct {
	monitor *otelgc.Monitor
	clock   stall.Clock
	since   stall.Instant // what ended before is no part of the recording
	probe   *jitterprobe.Probe
	file    *recording.Writer

	// Of the goroutine that looks.
	collection, suspension uint64 // the last of each that was recorded
	lost                   uint64 // that the monitor kept no longer

	quit    chan struct{}
	workers sync.WaitGroup
	once    sync.Once
	err     error
}

// Start begins to record what m sees into a file that must not exist.
func Start(m *otelgc.Monitor, path string, o Options) (*Recorder, error) {
	clock, err := stall.NewClock()
	if err != nil {
		return nil, fmt.Errorf("start recording: %w", err)
	}
	if o.Probe == jitterprobe.Auto {
		o.Probe = jitterprobe.Periodic
	}
	e := recording.Environment{Recorder: "otelgc " + otelgc.Version, Started: time.Now(), At: clock.Now(), Workload: o.Workload}
	e.Machine, e.OS = recording.Describe(os.DirFS("/"))
	if id, err := stall.BootID(); err == nil {
		e.BootID = id
	}
	file, err := recording.Create(path, e)
	if err != nil {
		return nil, err
	}
	r := &Recorder{monitor: m, clock: clock, since: e.At, file: file, quit: make(chan struct{})}
	// What was known before is no part of it; look leaves out what becomes known.
	if list, _ := m.Collections(0); len(list) > 0 {
		r.collection = list[len(list)-1].Index
	}
	if list, _ := m.Suspensions(0); len(list) > 0 {
		r.suspension = list[len(list)-1].Index
	}
	name := cmp.Or(o.Name, os.Getenv("OTEL_SERVICE_NAME"), filepath.Base(os.Args[0]))
	file.Add(recording.Target{ID: self, PID: os.Getpid(), Name: name, Runtime: "go", Facts: facts(), At: clock.Now()})
	if err := r.startProbe(o.Probe); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	r.workers.Go(func() {
		for g := range r.probe.All() { // until it is stopped
			r.file.Gap(inside, g)
		}
	})
	r.workers.Go(r.run)
	return r, nil
}

func (r *Recorder) startProbe(mode jitterprobe.Mode) error {
	p, err := jitterprobe.Start(jitterprobe.Options{Mode: mode, Clock: r.clock})
	if err != nil {
		return fmt.Errorf("start recording: %w", err)
	}
	floor := jitterprobe.DefaultThreshold
	if p.Mode() == jitterprobe.Periodic {
		floor = jitterprobe.DefaultPeriodicThreshold
	}
	r.probe = p
	r.file.Add(recording.Probe{ID: inside, Mode: p.Mode().String(), CPU: p.CPU(), Floor: floor, Target: self, Note: p.Note(), At: r.clock.Now()})
	return nil
}

// flushPatience is longer than the monitor waits for a source.
const flushPatience = 5 * time.Second

// Close ends the recording, and waits up to a few seconds for collections that
// are not settled yet. Call it before the monitor's Shutdown. The error is of the
// disk, and may have come long before; closing again returns the same.
func (r *Recorder) Close() error {
	r.once.Do(func() {
		close(r.quit)
		summary := r.probe.Stop()
		r.workers.Wait()
		at := r.clock.Now() // what is later nobody watched for
		ctx, cancel := context.WithTimeout(context.Background(), flushPatience)
		defer cancel()
		_ = r.monitor.Flush(ctx) // what is not settled by then is not recorded
		r.look(summary.Snapshot)
		r.file.Add(recording.End{At: at})
		r.err = r.file.Close()
	})
	return r.err
}

// lookEvery is the time between two looks at the monitor, which keeps 1024
// collections.
const lookEvery = time.Second

func (r *Recorder) run() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.quit:
			return
		case <-tick.C:
			r.look(r.probe.Snapshot())
		}
	}
}

// look records what has become known since the last look.
func (r *Recorder) look(s jitterprobe.Snapshot) {
	collections, dropped := r.monitor.Collections(r.collection)
	r.lost += dropped
	for i := range collections {
		r.collection = collections[i].Index
		if end, ok := collections[i].End.Get(); ok && end < r.since {
			continue
		}
		r.file.Add(recording.Collection{Target: self, Collection: collections[i]})
	}
	stops, dropped := r.monitor.Suspensions(r.suspension)
	r.lost += dropped
	for i := range stops {
		v := &stops[i]
		r.suspension = v.Index
		if v.End < r.since {
			continue
		}
		r.file.Add(recording.Suspension{Target: self, Span: v.Span(), Reason: v.Reason, Caller: v.Caller})
	}
	r.file.Add(recording.Status{
		Source: "probe." + r.probe.Mode().String(), Probe: inside, At: r.clock.Now(), Watermark: s.Watermark,
		Dropped: s.Dropped, DroppedTime: s.DroppedTime, Unrecorded: r.file.Dropped() + r.lost,
	})
}
