package semconv

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Limits of what [Decode] believes. Senders stay below them.
const (
	MaxListed  = 128 // pauses of one collection, unseen spans of one status
	MaxCgroups = 64  // how deep a process may lie in cgroups
	// MaxInstant bounds instants: no machine has been up for 36 years.
	MaxInstant = stall.Instant(1<<62-1) / 4
	MaxStall   = stall.Instant(time.Hour) // what claims more is no stall but a mistake
	MaxSlack   = time.Minute
	maxOffset  = math.MaxInt64 / 4 // of the wall clock
	maxCPU     = 1 << 16
	maxPID     = 1 << 30
)

// What is wrong with an event that cannot be.
var (
	ErrTime  = errors.New("time")  // times or sizes that cannot be
	ErrCause = errors.New("cause") // a cause or a scope that is not of the list
)

// Attributes are those of a log record, however a library keeps them.
type Attributes interface {
	// Text returns a text, empty if there is none or it is too long.
	Text(key string) string
	Int(key string) (int64, bool)
	Float(key string) (float64, bool)
	// Ints returns the first max numbers of a list, nil if there is none, and false if
	// it is longer. An element that is no integer is zero.
	Ints(key string, max int) ([]int64, bool)
}

// Record is what an event of a source says.
type Record struct {
	Origin stall.Origin // NoOrigin if it is not known
	// TargetPID and TargetCreated name the process that a gap of scope target, or a
	// status, is about; zero if it names none.
	TargetPID     int32
	TargetCreated uint64
	// Intervals are the pauses of a collection, a stop or a gap. Those of a
	// collection have its index as Ref.
	Intervals []stall.Interval
	// EndMax is up to where each interval may have lasted; nil: to its End.
	EndMax []stall.Instant
	Kind   gc.Kind // of a collection
	Status Status  // of a status
	Traced *Traced // of a traced request, nil for any other
}

// Decode reads the event of a name. Origin and target are good even if there is an
// error.
func Decode(name string, a Attributes) (r Record, err error) {
	r.Origin = parseOrigin(a.Text(AttrSource))
	if pid, ok := a.Int(AttrTargetPID); ok && pid > 0 && pid <= maxPID {
		r.TargetPID = int32(pid)
	}
	if ticks, ok := a.Int(AttrTargetCreated); ok && ticks > 0 {
		r.TargetCreated = uint64(ticks)
	}
	switch name {
	case EventSourceStatus:
		err = r.decodeStatus(a)
	case EventCollection:
		err = r.decodePauses(a)
	case EventSuspension:
		err = r.decodeExtent(a, stall.RuntimeSuspension, stall.ScopeProcess)
	case EventGap:
		err = r.decodeGap(a)
	case EventTraced:
		err = r.decodeTraced(a)
	}
	return r, err
}

func parseOrigin(name string) stall.Origin {
	for s := stall.NoOrigin + 1; s < stall.NumOrigins; s++ {
		if s.String() == name {
			return s
		}
	}
	return stall.NoOrigin
}

// decodeExtent reads the event's own extent as one stall.
func (r *Record) decodeExtent(a Attributes, c stall.Cause, scope stall.Scope) error {
	slack, _ := a.Int(AttrSlack)
	v := stall.Interval{
		Start: instantOf(a, AttrStart), End: instantOf(a, AttrEnd), Slack: time.Duration(slack),
		Cause: c, Origin: r.Origin, Scope: scope, CPU: -1,
	}
	if !sane(v) {
		return ErrTime
	}
	r.Intervals = append(r.Intervals, v)
	return nil
}

func sane(v stall.Interval) bool {
	return v.Start > 0 && v.End >= v.Start && v.End <= MaxInstant && v.End-v.Start <= MaxStall && v.Slack >= 0 && v.Slack <= MaxSlack
}

func instantOf(a Attributes, key string) stall.Instant {
	n, _ := a.Int(key)
	return stall.Instant(n)
}

func (r *Record) decodeGap(a Attributes) error {
	c, err := stall.ParseCause(a.Text(AttrCause))
	var scope stall.Scope
	if err != nil || scope.UnmarshalText([]byte(a.Text(AttrScope))) != nil {
		return ErrCause
	}
	if err := r.decodeExtent(a, c, scope); err != nil {
		return err
	}
	v := &r.Intervals[0]
	if cpu, ok := a.Int(AttrCPU); ok && cpu >= 0 && cpu < maxCPU {
		v.CPU = int32(cpu)
	}
	if id, ok := a.Int(AttrCgroupID); ok && id > 0 {
		v.Owner.Cgroup = uint64(id)
	}
	if scope == stall.ScopeTarget {
		v.Owner.PID = r.TargetPID
	}
	return nil
}

func (r *Record) decodePauses(a Attributes) error {
	index, _ := a.Int(AttrGCIndex)
	_ = r.Kind.UnmarshalText([]byte(a.Text(AttrGCKind))) // an unknown one stays NoKind
	starts, ok1 := a.Ints(AttrPauseStart, MaxListed)
	ends, ok2 := a.Ints(AttrPauseEnd, MaxListed)
	slacks, ok3 := a.Ints(AttrPauseSlack, MaxListed)
	var most []int64
	ok4 := true
	if r.Origin == stall.Dotnet {
		// From the event that begins the restart to the one that ends it threads may
		// run or not. A Go pause ends when another thread runs, which is known: its
		// bound is when the runtime reported the end.
		most, ok4 = a.Ints(AttrPauseEndMax, MaxListed)
	}
	if !ok1 || !ok2 || !ok3 || !ok4 || len(starts) != len(ends) {
		return ErrTime
	}
	for i := range starts {
		v := stall.Interval{
			Start: stall.Instant(starts[i]), End: stall.Instant(ends[i]),
			Cause: stall.GCPause, Origin: r.Origin, CPU: -1, Ref: uint64(max(0, index)),
		}
		if i < len(slacks) {
			v.Slack = time.Duration(slacks[i])
		}
		if !sane(v) {
			return ErrTime
		}
		r.Intervals = append(r.Intervals, v)
		if i < len(most) {
			end := max(v.End, stall.Instant(most[i]))
			if end > MaxInstant || end-v.Start > MaxStall {
				return ErrTime
			}
			r.EndMax = append(r.EndMax, end)
		}
	}
	return nil
}

// decodeTraced reads a request. What of its time it gives to no owner is unseen.
func (r *Record) decodeTraced(a Attributes) error {
	slack, _ := a.Int(AttrSlack)
	v := stall.Interval{Start: instantOf(a, AttrStart), End: instantOf(a, AttrEnd), Slack: time.Duration(slack)}
	if !sane(v) || a.Text(AttrFidelity) != stall.Exact.String() {
		return ErrTime
	}
	t := &Traced{Span: v.Span(), Slack: v.Slack, Task: a.Text(AttrTask)}
	s := &t.Share
	s.Total, s.Fidelity = v.Duration(), stall.Exact
	left := s.Total
	for o := Owner(stall.GCPause); o < NumOwners; o++ {
		seconds, ok := a.Float(o.Key())
		if !ok {
			continue
		}
		if !(seconds >= 0 && seconds <= time.Duration(MaxStall).Seconds()) {
			return ErrTime
		}
		d := time.Duration(math.Round(seconds * float64(time.Second)))
		if left -= d; left < 0 {
			return ErrTime
		}
		*o.Part(s) = d
	}
	s.Unseen += left
	if part, ok := a.Float(AttrCoverage); ok && part >= 0 && part <= 1 {
		s.Covered = time.Duration(math.Round(part * float64(s.Total)))
	}
	s.Collections = max(0, slices.Index(Overlaps[:], a.Text(AttrGCOverlap)))
	r.Traced = t
	return nil
}

func (r *Record) decodeStatus(a Attributes) error {
	s := &r.Status
	s.Origin = r.Origin
	s.Since, s.At, s.Watermark = instantOf(a, AttrStart), instantOf(a, AttrEnd), instantOf(a, AttrWatermark)
	offset, ok := a.Int(AttrWallOffset)
	wallError, _ := a.Int(AttrWallError)
	if s.At <= 0 || s.At > MaxInstant || s.Since < 0 || s.Since > s.At || s.Watermark < 0 || s.Watermark > s.At ||
		!ok || offset < -maxOffset || offset > maxOffset || wallError < 0 || wallError > int64(MaxSlack) {
		return ErrTime
	}
	s.Wall = stall.WallOffset{At: s.At, Offset: time.Duration(offset), Error: time.Duration(wallError)}
	groups, _ := a.Ints(AttrCgroupIDs, MaxCgroups)
	for _, id := range groups {
		if id > 0 {
			s.Cgroups = append(s.Cgroups, uint64(id))
		}
	}
	starts, ok1 := a.Ints(AttrUnseenStart, MaxListed)
	ends, ok2 := a.Ints(AttrUnseenEnd, MaxListed)
	if !ok1 || !ok2 || len(starts) != len(ends) {
		return ErrTime
	}
	for i := range starts {
		span := stall.Span{Start: stall.Instant(starts[i]), End: stall.Instant(ends[i])}
		if span.Start < 0 || span.End < span.Start || span.End > MaxInstant {
			return ErrTime
		}
		s.Unseen = append(s.Unseen, span)
	}
	return nil
}
