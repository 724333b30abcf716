package demo

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/demo/wire"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Bounds of what the parent keeps of the child's account.
const (
	maxPauses = 1 << 20
	maxGaps   = 1 << 17
)

// reportedGap is the shortest gap of the probe in the service that the report
// speaks of.
const reportedGap = 50 * time.Microsecond

// account is what the service said over the pipe. Windows stay as they came
// until all are there: as shares they would take ten times the space.
type account struct {
	hello    wire.Hello
	farewell wire.Farewell
	ended    bool // the farewell came, or a failure
	failure  error

	arena      []byte // payloads of windows
	at         []uint32
	maxWindows int
	pauses     []pause
	active     []stall.Span     // when a collection was under way, where that is known
	others     []stall.Interval // stops that were not of a collection
	gaps       []stall.Interval
	left       int // records over the bounds
}

// pause is one stop of the collector, and the collection it was of.
type pause struct {
	gc.Pause
	collection uint64
	kind       gc.Kind
}

// maxArena bounds the payloads of windows, 64 bytes for each of a million.
const maxArena = 64 << 20

// read takes the account until the stream ends. It calls ready when the service
// takes requests.
func (a *account) read(r io.Reader, ready func()) error {
	frames := wire.NewReader(r)
	for {
		kind, payload, err := frames.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read account of service: %w", err)
		}
		if err := a.take(kind, payload, ready); err != nil {
			return fmt.Errorf("read account of service: %w", err)
		}
	}
}

func (a *account) take(kind wire.Kind, payload []byte, ready func()) (err error) {
	if !a.inOrder(kind) {
		return fmt.Errorf("frame %q is out of order", kind)
	}
	switch kind {
	case wire.KindHello:
		a.hello, err = wire.DecodeHello(payload)
		if err == nil && a.hello.Address == "" {
			err = errors.New("hello without an address")
		}
		if err == nil {
			ready()
		}
	case wire.KindWindow:
		if len(a.at) >= a.maxWindows || len(a.arena)+len(payload) > maxArena {
			a.left++
			return nil
		}
		a.at = append(a.at, uint32(len(a.arena)))
		a.arena = append(a.arena, payload...)
	case wire.KindCollection:
		err = a.collection(payload)
	case wire.KindSuspension:
		var v stall.Interval
		if v, err = wire.DecodeSuspension(payload); err != nil {
			return err
		}
		if len(a.others) == maxPauses {
			a.left++
			return nil
		}
		a.others = append(a.others, v)
	case wire.KindGap:
		var v stall.Interval
		if v, err = wire.DecodeGap(payload); err != nil || v.Duration() <= reportedGap {
			return err
		}
		if len(a.gaps) == maxGaps {
			a.left++
			return nil
		}
		a.gaps = append(a.gaps, v)
	case wire.KindFarewell:
		a.farewell, err = wire.DecodeFarewell(payload)
		a.ended = err == nil
	case wire.KindFailure:
		a.failure, a.ended = fmt.Errorf("service: %s", payload), true
	}
	return err
}

// inOrder reports whether a frame of kind k may come now: there is one hello, no
// farewell before it, and nothing after the farewell or a failure. The first
// windows may be resolved before the hello is written.
func (a *account) inOrder(k wire.Kind) bool {
	greeted := a.hello.Address != ""
	switch k {
	case wire.KindHello:
		return !greeted && !a.ended
	case wire.KindFarewell:
		return greeted && !a.ended
	}
	return !a.ended
}

func (a *account) collection(payload []byte) error {
	c, err := wire.DecodeCollection(payload)
	if err != nil {
		return err
	}
	for _, p := range c.Pauses {
		if len(a.pauses) == maxPauses {
			a.left++
			return nil
		}
		a.pauses = append(a.pauses, pause{p, c.Index, c.Kind})
	}
	if !c.Active.Empty() && len(a.active) < maxPauses {
		a.active = append(a.active, c.Active)
	}
	return nil
}

// window decodes window i.
func (a *account) window(i int, w *stall.Window, s *stall.Share) error {
	end := uint32(len(a.arena))
	if i+1 < len(a.at) {
		end = a.at[i+1]
	}
	return wire.DecodeWindow(a.arena[a.at[i]:end], w, s)
}
