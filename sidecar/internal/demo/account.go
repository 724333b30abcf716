package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// message is one line of JSON that the service writes to the demo. One field is set.
// Farewell or Failure is the last message.
type message struct {
	Hello      *hello          `json:",omitempty"`
	Window     *window         `json:",omitempty"`
	Collection *collection     `json:",omitempty"`
	Suspension *stall.Interval `json:",omitempty"` // stopped the world, not for the collector
	Gap        *stall.Interval `json:",omitempty"` // of the probe in the service
	Drawn      *drawn          `json:",omitempty"` // of a few windows, after the load
	Farewell   *farewell       `json:",omitempty"`
	Failure    string          `json:",omitempty"` // why the service ended early
}

// hello is sent when the service takes requests.
type hello struct {
	Address    string // host:port on the loopback interface
	GoVersion  string
	GOMAXPROCS int
	ProbeMode  string // of the probe in the process
	ProbeNote  string // why it is not the mode that was asked for
}

// farewell is read after the load has settled.
type farewell struct {
	GC     blame.Collections
	Lost   uint64   // collections and suspensions that the monitor dropped
	Forced uint64   // stops or cycles that the injection caused
	Notes  []string // what went wrong, for the report
}

// drawn has the pieces of a window, so that it can be drawn.
type drawn struct {
	Arrival stall.Instant
	Pieces  []stall.Piece
	Coarse  bool // each has the part with most of it
}

// check refuses pieces that do not follow on each other from the arrival on.
func (d *drawn) check() error {
	at := d.Arrival
	for i, p := range d.Pieces {
		if p.Start != at || p.End <= p.Start || p.End.Sub(d.Arrival) > maxTime || p.Part >= stall.NumParts {
			return fmt.Errorf("piece %d of a window from %d on: part %d from %d to %d", i, d.Arrival, uint8(p.Part), p.Start, p.End)
		}
		at = p.End
	}
	return nil
}

// collection is what the demo needs of a gc.Collection.
type collection struct {
	Index    uint64
	Active   stall.Span // from begin to end; empty if one of them is not known
	Blocking bool
	Pauses   []stall.Interval // Ref is the index of the collection
}

// maxPausesOfOne bounds the pauses of one collection: two, and a few more when
// mark termination is retried.
const maxPausesOfOne = 1024

func collectionOf(c *gc.Collection) *collection {
	out := &collection{Index: c.Index, Blocking: c.Kind == gc.FullBlocking}
	start, known := c.Start.Get()
	if end, over := c.End.Get(); known && over && end >= start {
		out.Active = stall.Span{Start: start, End: end}
	}
	for _, p := range c.Pauses[:min(len(c.Pauses), maxPausesOfOne)] {
		out.Pauses = append(out.Pauses, stall.Interval{
			Start: p.Start, End: p.End, Slack: p.Slack, Cause: stall.GCPause, Origin: c.Origin, Ref: c.Index,
		})
	}
	return out
}

// window is a resolved window with its share.
type window struct {
	Arrival, Start, End stall.Instant
	stall.Share
}

// decodeWindow decodes a message with a window. It refuses a share that does not sum to
// its total.
func decodeWindow(text []byte) (*window, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	w := m.Window
	if w == nil {
		return nil, errors.New("no window")
	}
	s := &w.Share
	times := []time.Duration{s.Total, s.Uncertain, s.App, s.AppOrHost, s.Unseen, s.Covered}
	for _, list := range [][stall.NumCauses]time.Duration{s.Charged, s.Overlapped, s.HostDuring, s.Coincident} {
		times = append(times, list[:]...)
	}
	for _, d := range times {
		if d < 0 || d > maxTime {
			return nil, fmt.Errorf("duration of %v, want 0s to %v", d, maxTime)
		}
	}
	sum := s.Uncertain + s.App + s.AppOrHost + s.Unseen
	for _, d := range s.Charged {
		sum += d
	}
	switch {
	case w.Arrival < 0 || w.Start < w.Arrival || w.End < w.Start:
		return nil, fmt.Errorf("window from %d over %d to %d is out of order", w.Arrival, w.Start, w.End)
	case sum != s.Total:
		return nil, fmt.Errorf("share sums to %v, want its total of %v", sum, s.Total)
	case s.Collections < 0 || s.Pauses < 0 || (s.Collections > 0) != (s.GC() > 0):
		return nil, fmt.Errorf("%d collections delayed the window by %v", s.Collections, s.GC())
	case s.Covered > s.Total:
		return nil, fmt.Errorf("share covers %v of %v", s.Covered, s.Total)
	}
	return w, nil
}

// maxTime bounds every duration: a day, far from any overflow of sums.
const maxTime = 24 * time.Hour

func checkInterval(v *stall.Interval) error {
	if v.Start < 0 || v.End < v.Start || v.Slack < 0 || v.Slack > maxTime || v.Duration() > maxTime {
		return fmt.Errorf("interval from %d to %d with slack %v is out of range", v.Start, v.End, v.Slack)
	}
	if v.Cause >= stall.NumCauses || v.Scope >= stall.NumScopes || v.Origin >= stall.NumOrigins {
		return fmt.Errorf("interval of cause %d, scope %d, origin %d is out of range", uint8(v.Cause), uint8(v.Scope), uint8(v.Origin))
	}
	return nil
}

// messages writes messages. Its methods may be called by many goroutines. An error
// to write is returned by each later flush.
type messages struct {
	mu sync.Mutex
	to *bufio.Writer
}

func newMessages(w io.Writer) *messages { return &messages{to: bufio.NewWriterSize(w, 64<<10)} }

func (w *messages) send(m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = json.NewEncoder(w.to).Encode(m) // nothing in it can fail to encode
}

func (w *messages) window(v *stall.Window, s *stall.Share) {
	w.send(message{Window: &window{v.Arrival, v.Start, v.End, *s}})
}

func (w *messages) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.to.Flush(); err != nil {
		return fmt.Errorf("write to the demo: %w", err)
	}
	return nil
}

// Bounds of what the parent keeps, and of a message.
const (
	maxMessage  = 1 << 20
	maxWindows  = 640 << 20 // bytes of all windows: 600 for each of a million
	maxStops    = 1 << 20
	maxGaps     = 1 << 17
	maxDrawn    = 2 * keptDrawn
	maxFailure  = 4096 // bytes
	reportedGap = 50 * time.Microsecond
)

// account is what the service reported.
type account struct {
	hello    hello
	farewell farewell
	ended    bool // the farewell came, or a failure
	failure  error

	maxWindows int // that the load can make
	windows    [][]byte
	size       int              // of windows, in bytes
	stops      []stall.Interval // of the world, for the collector and for others
	blocking   bool             // the collections are full and blocking
	active     []collection     // those of which it is known when they were under way, without their pauses
	drawn      []drawn
	gaps       []stall.Interval // of the probe in the service, longer than reportedGap
	dropped    int              // records over the bounds
}

// read takes messages until the stream ends. It calls ready when the service takes
// requests.
func (a *account) read(r io.Reader, ready func()) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	n := 1
	for ; lines.Scan(); n++ {
		if err := a.take(lines.Bytes(), ready); err != nil {
			return fmt.Errorf("read message %d of service: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read message %d of service: %w", n, err)
	}
	return nil
}

// windowPrefix begins a message with a window. Windows are decoded when the load is
// over, because to decode them meanwhile would delay it.
const windowPrefix = `{"Window":`

func (a *account) take(line []byte, ready func()) error {
	if bytes.HasPrefix(line, []byte(windowPrefix)) && !a.ended {
		if len(a.windows) >= a.maxWindows || a.size+len(line) > maxWindows {
			a.dropped++
			return nil
		}
		a.windows, a.size = append(a.windows, bytes.Clone(line)), a.size+len(line)
		return nil
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	// The first windows may be resolved before hello is written.
	greeted := a.hello.Address != ""
	if a.ended || m.Window != nil || m.Hello != nil && greeted || m.Farewell != nil && !greeted {
		return errors.New("out of order")
	}
	switch {
	case m.Hello != nil:
		if a.hello = *m.Hello; a.hello.Address == "" {
			return errors.New("hello without an address")
		}
		ready()
	case m.Collection != nil:
		c := m.Collection
		a.blocking = a.blocking || c.Blocking
		for i := range c.Pauses {
			if err := a.keep(&a.stops, &c.Pauses[i], maxStops); err != nil {
				return err
			}
		}
		if c.Active.Start >= 0 && !c.Active.Empty() && len(a.active) < maxStops {
			a.active = append(a.active, collection{Index: c.Index, Active: c.Active})
		}
	case m.Drawn != nil:
		if err := m.Drawn.check(); err != nil {
			return err
		}
		if len(a.drawn) == maxDrawn {
			a.dropped++
			return nil
		}
		a.drawn = append(a.drawn, *m.Drawn)
	case m.Suspension != nil:
		return a.keep(&a.stops, m.Suspension, maxStops)
	case m.Gap != nil && m.Gap.Duration() > reportedGap:
		return a.keep(&a.gaps, m.Gap, maxGaps)
	case m.Farewell != nil:
		a.farewell, a.ended = *m.Farewell, true
	case m.Failure != "":
		a.failure, a.ended = fmt.Errorf("service: %s", m.Failure), true
	}
	return nil
}

func (a *account) keep(list *[]stall.Interval, v *stall.Interval, most int) error {
	if err := checkInterval(v); err != nil {
		return err
	}
	if len(*list) == most {
		a.dropped++
		return nil
	}
	*list = append(*list, *v)
	return nil
}
