package stall

import "time"

// Window is the time of one request, from its handler's first instruction to
// its last.
type Window struct {
	Start, End Instant
	// Arrival is the intended start: when the client sent, or when the load
	// balancer received. Zero if it is not known; then a stall between arrival
	// and handler cannot be seen.
	Arrival Instant
	// Receipt is when the client had the answer. Zero if it is not known.
	Receipt Instant
	// Place is where the window ran. Nil if it is not known; then only host
	// intervals of the whole machine apply.
	Place *Place
}

// Extent returns all the time that the window accounts for: from Arrival (or
// Start) to Receipt (or End).
func (w *Window) Extent() Span {
	s := Span{w.Start, w.End}
	if w.Arrival != 0 && w.Arrival < s.Start {
		s.Start = w.Arrival
	}
	if w.Receipt != 0 && w.Receipt > s.End {
		s.End = w.Receipt
	}
	return s
}

// Place says where a process runs, so that the join can tell which intervals
// of the machine apply to it.
type Place struct {
	PID     int32
	Created uint64   // see Owner.Created
	Cgroups []uint64 // the process's own cgroups and every ancestor, see Owner.Cgroup
}

// State is what a goroutine was doing.
type State uint8

const (
	StateUnknown  State = iota // not followed
	StateRunning               // on a CPU, or believed to be by the runtime
	StateRunnable              // wanted to run and did not
	StateParked                // waiting by its own doing: network, channel, timer, lock, system call
)

// StateSpan is a stretch of one goroutine's life in one state.
type StateSpan struct {
	Start, End Instant
	State      State
}

// Evidence is all that the sources said about the time of one or more windows.
// Every list is sorted by Start. Lists may reach beyond the windows.
type Evidence struct {
	// Process holds what stopped the whole process: gc.pause,
	// runtime.suspension, runtime.unknown.
	Process []Interval
	// Own holds what happened to the window's goroutine: gc.assist, gc.sweep,
	// gc.wait, sched.gc, sched, and runtime.unknown where the runtime kept it
	// from running. A stop in it, gc.pause or runtime.suspension, is one that the
	// goroutine itself made.
	Own []Interval
	// Host holds what probes saw of the machine.
	Host []Interval
	// Track holds the states of the window's goroutine, without overlap.
	// Where it is silent the goroutine was not followed.
	Track []StateSpan
	// Seen holds the spans in which a source of fidelity exact watched the
	// runtime, without overlap.
	Seen []Span
	// TargetSeen holds the spans in which a source of scope target watched
	// what the machine did to this process, without overlap.
	TargetSeen []Span
}

// Share has the owners of the time of one window. Charged, Uncertain, App,
// AppOrHost and Unseen sum to Total exactly.
type Share struct {
	Total time.Duration
	// Charged holds the time that each cause cost, each nanosecond once.
	Charged [NumCauses]time.Duration
	// Uncertain is time that an interval covers only within its slack, or of
	// which it cannot be said whether the stall delayed anything.
	Uncertain time.Duration
	// App is the program's own time: it was watched, and either waited by its
	// own doing or ran while a source of scope target saw that the machine left
	// it alone.
	App time.Duration
	// AppOrHost is time in which the goroutine ran and the machine was not
	// watched for this process.
	AppOrHost time.Duration
	// Unseen is time in which no exact source followed the window.
	Unseen time.Duration

	// Overlapped holds stops of the whole process that fell while the goroutine
	// waited by its own doing, or ran: they delayed nothing.
	Overlapped [NumCauses]time.Duration
	// HostDuring holds what applicable host intervals cover of the time that
	// was charged to another cause: why a pause was long. Outside the sum.
	HostDuring [NumCauses]time.Duration
	// Coincident holds host intervals that overlap the window but do not apply
	// to it. Outside the sum.
	Coincident [NumCauses]time.Duration

	// Covered is the time in which an exact source watched the runtime.
	Covered time.Duration
	// Pauses is the number of gc.pause intervals that overlap the window.
	Pauses int
	// Collections is the number of garbage collections that delayed the window: of
	// distinct [Interval.Ref] among the intervals that it was charged for, and of
	// pauses among them without one.
	Collections int
	// LastCollection is the Ref of the last of them, zero if there is none.
	LastCollection uint64
	// Fidelity is Exact if an exact source followed the whole window.
	Fidelity Fidelity
}

// Part says what a nanosecond of a window went to: the [Cause] of that number, or one of
// the parts below, which follow on the causes.
type Part uint8

// The parts of a window that no cause has.
const (
	App       = Part(NumCauses) + iota // [Share.App]
	AppOrHost                          // [Share.AppOrHost]
	Uncertain                          // [Share.Uncertain]
	Unseen                             // [Share.Unseen]
	NumParts
)

// String returns the name of p in the telemetry contract, such as "gc.pause" or "app".
func (p Part) String() string {
	if p >= App && p < NumParts {
		return [...]string{"app", "app_or_host", "uncertain", "unseen"}[p-App]
	}
	return Cause(p).String()
}

// MarshalText encodes p by its name.
func (p Part) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText decodes a name.
func (p *Part) UnmarshalText(name []byte) error {
	for q := App; q < NumParts; q++ {
		if q.String() == string(name) {
			*p = q
			return nil
		}
	}
	c, err := ParseCause(string(name))
	*p = Part(c)
	return err
}

// Piece is a stretch of a window that one part has.
type Piece struct {
	Start Instant `json:"start"`
	End   Instant `json:"end"`
	Part  Part    `json:"part"`
}

// Of returns where s holds the time of p.
func (s *Share) Of(p Part) *time.Duration {
	switch p {
	case App:
		return &s.App
	case AppOrHost:
		return &s.AppOrHost
	case Uncertain:
		return &s.Uncertain
	case Unseen:
		return &s.Unseen
	default:
		return &s.Charged[p]
	}
}

// Add adds the share of a piece of the same window, which was joined apart. An
// interval that lies across the cut between two pieces counts in both Pauses,
// and within its slack as uncertain in both; Collections is left as it is.
func (s *Share) Add(o *Share) {
	exact := s.Total == 0 || s.Fidelity == Exact
	s.Total += o.Total
	s.Uncertain += o.Uncertain
	s.App += o.App
	s.AppOrHost += o.AppOrHost
	s.Unseen += o.Unseen
	s.Covered += o.Covered
	s.Pauses += o.Pauses
	for c := range s.Charged {
		s.Charged[c] += o.Charged[c]
		s.Overlapped[c] += o.Overlapped[c]
		s.HostDuring[c] += o.HostDuring[c]
		s.Coincident[c] += o.Coincident[c]
	}
	if s.Fidelity = Cycle; exact && (o.Total == 0 || o.Fidelity == Exact) {
		s.Fidelity = Exact
	}
}

// GC returns the time charged to garbage collection: pause, assist, sweep and
// wait. With fidelity Cycle it is of pauses that fell into the window for certain,
// which cost it as much at most; more of them may be in Uncertain.
func (s *Share) GC() time.Duration {
	return s.Charged[GCPause] + s.Charged[GCAssist] + s.Charged[GCSweep] + s.Charged[GCWait]
}

// Coverage returns the fraction of the window in which an exact source watched
// the runtime, 0 to 1; 1 for an empty window.
func (s *Share) Coverage() float64 {
	if s.Total <= 0 {
		return 1
	}
	return float64(s.Covered) / float64(s.Total)
}
