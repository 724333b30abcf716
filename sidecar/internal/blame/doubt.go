package blame

import (
	"fmt"
	"time"
)

// doubt says why p need not have had more time than everybody else but ahead, who is
// before it (nil for nobody): time of which a bound only is known may be another's,
// and so may what was unseen or is uncertain. It is empty if there is none.
func (t *Tally) doubt(p, ahead *party, cycle *Tally) string {
	if p == nil {
		return ""
	}
	open := t.Share.Unseen + t.Share.Uncertain
	if p.nobody() {
		open -= p.of(t) // that is who is named
	}
	switch {
	case !t.leads(p, ahead, cycle, 0):
		return ": of requests watched per cycle it is known what stops fell into them, not what held them up"
	case !t.leads(p, ahead, cycle, open):
		return fmt.Sprintf(": %s %s, and may be another's", percent(t.Of(open)), t.openIs(p))
	}
	return ""
}

// openIs says what time that may be another's than p's is.
func (t *Tally) openIs(p *party) string {
	switch {
	case t.Share.Uncertain == 0 || p.nobody():
		return "was unseen"
	case t.Share.Unseen == 0:
		return "is uncertain"
	}
	return "was unseen or is uncertain"
}

// leads reports whether p had as much time as anybody else but ahead, even if none of
// what is a bound only was its, but all of it, and the open time, was the other's.
func (t *Tally) leads(p, ahead *party, cycle *Tally, open time.Duration) bool {
	for i := range parties {
		open += parties[i].loose(cycle)
	}
	for i := range parties {
		q := &parties[i]
		if q == p || q == ahead || q.nobody() {
			continue
		}
		if p.of(t)-p.loose(cycle) < q.of(t)+open-q.loose(cycle) {
			return false
		}
	}
	return true
}

// perhaps is the word before who is named in doubt.
func perhaps(doubt string) string {
	if doubt == "" {
		return ""
	}
	return "perhaps "
}
