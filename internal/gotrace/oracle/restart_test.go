package oracle

import (
	"testing"

	"golang.org/x/exp/trace"
)

// procs follows which Ps run, and finds in each stop of the world when another
// one than that of who made it runs again.
type procs struct {
	running map[trace.ProcID]bool
	open    *openStop
}

type openStop struct {
	key     openKey
	own     trace.ProcID
	marked  bool // the collection ended within it: nobody else runs then
	restart int64
}

// others returns how many Ps run that are not the stop's.
func (p *procs) others() (n int) {
	for id, on := range p.running {
		if on && id != p.open.own {
			n++
		}
	}
	return n
}

func (p *procs) begin(k openKey, own trace.ProcID) { p.open = &openStop{key: k, own: own} }

// end returns when another P ran again, 0 if none did.
func (p *procs) end(k openKey) (restart int64) {
	if p.open != nil && p.open.key == k {
		restart, p.open = p.open.restart, nil
	}
	return restart
}

// mark notes that the collection ended, which it does while the world is stopped.
func (p *procs) mark(t *testing.T) {
	if p.open == nil || p.open.marked {
		return
	}
	p.open.marked, p.open.restart = true, 0
	if n := p.others(); n > 0 {
		t.Errorf("%d other Ps run while the world is stopped", n)
	}
}

func (p *procs) change(ev *trace.Event, at int64) {
	st := ev.StateTransition()
	id := st.Resource.Proc()
	_, to := st.Proc()
	on := to == trace.ProcRunning
	if p.running[id] == on {
		return
	}
	if o := p.open; o != nil && id != o.own && on && p.others() == 0 && (!o.marked || o.restart == 0) {
		o.restart = at
	}
	p.running[id] = on
	if o := p.open; o != nil && id != o.own && !on && p.others() == 0 && !o.marked {
		o.restart = 0
	}
}
