package oracle

import "golang.org/x/exp/trace"

const stopPrefix = "stop-the-world ("

// procs says when, in a stop of the world, another P runs again than that of who
// made it. The mark phase ends while none does.
type procs struct {
	running   map[trace.ProcID]bool
	own       trace.ProcID // of who stopped the world last
	collected bool         // the mark phase ended since
	again     edge         // zero if none runs again yet
}

func (p *procs) stop(own trace.ProcID) {
	p.own, p.collected, p.again = own, false, edge{}
}

func (p *procs) change(id trace.ProcID, on bool, now edge) {
	if p.running == nil {
		p.running = map[trace.ProcID]bool{}
	}
	if p.running[id] == on {
		return // a generation begins and says how things are
	}
	none := func() bool {
		for other, on := range p.running {
			if on && other != p.own {
				return false
			}
		}
		return true
	}
	if id != p.own && on && none() && p.again.at == 0 {
		p.again = now
	}
	p.running[id] = on
	if id != p.own && !on && none() && !p.collected {
		p.again = edge{}
	}
}
