package main

import "fmt"

// What is wanted of the gaps of known truth, in hundredths, and how many there
// have to be.
const (
	leastRight = 90
	mostWrong  = 2
	leastKnown = 50
)

// verdict is a bound and how it was kept.
type verdict struct {
	what, wanted, got string
	met               bool
}

// verdicts holds what was measured against the bounds. A case that was left out
// has none.
func verdicts(all []*tally) (list []verdict) {
	for _, t := range all {
		if t.left == "" {
			list = append(list, t.verdicts()...)
		}
	}
	return list
}

func (t *tally) verdicts() (list []verdict) {
	if len(t.c.never) > 0 {
		list = append(list, t.impossible())
	}
	if t.c.want == "" {
		return list
	}
	if t.truth < leastKnown {
		return append(list, verdict{t.c.name + ", gaps of known truth", fmt.Sprintf("%d or more", leastKnown), fmt.Sprint(t.truth), false})
	}
	if t.c.rights == allRights {
		list = append(list, verdict{t.c.name + ", right", fmt.Sprintf("%d %% or more", leastRight), percent(t.right(), t.truth), 100*t.right() >= leastRight*t.truth})
	}
	return append(list, verdict{t.c.name + ", wrong", fmt.Sprintf("%d %% at most", mostWrong), percent(t.wrong(), t.truth), 100*t.wrong() <= mostWrong*t.truth})
}

// impossible is the verdict on gaps that are called what cannot be. Where it can
// be in the injection, some have it by chance: not every doing of the runtime is
// known.
func (t *tally) impossible() verdict {
	v := verdict{what: t.c.name + ", called what cannot be", wanted: "none", got: fmt.Sprintf("%d of %d", t.never, t.gaps), met: t.never == 0}
	if t.c.but {
		v.wanted, v.met = fmt.Sprintf("%d %% of all gaps at most", mostWrong), 100*t.never <= mostWrong*t.gaps
	}
	v.met = v.met && t.gaps > 0
	return v
}

// unmet counts the bounds that were not kept.
func unmet(list []verdict) (n int) {
	for _, v := range list {
		if !v.met {
			n++
		}
	}
	return n
}

func word(met bool) string {
	if met {
		return "met"
	}
	return "not met"
}
