package queries

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
)

// question is an expression that Prometheus has to answer.
type question struct {
	expr  string
	empty bool // it need not have data: an alert where all is well
}

// TestQueries: every query of the rules and of the dashboard runs on a real
// Prometheus that scrapes a real Collector, and has data.
func TestQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Collector, a Prometheus, a service and a sidecar")
	}
	s := newSite(t)
	p := s.prometheus(t)
	board := filepath.Join(t.TempDir(), "board")
	sidecar := s.sidecar(t, board)
	shop := s.shop(t, 1_000_000, board) // more than it gets to
	all := []*process{s.collector, p.process, sidecar, shop}

	var rules []rule
	eventually(t, "every rule", func() (err error) { rules, err = p.rules(); return err }, all...)
	var open []question
	for _, r := range rules {
		if r.Type == "recording" {
			open = append(open, question{r.Name, false})
		} else {
			open = append(open, question{r.Query, true})
		}
	}
	for _, q := range targets(t) {
		open = append(open, question{q.expr, false})
	}
	t.Logf("%d queries", len(open))
	sent := 0
	eventually(t, "an answer to every query", func() error {
		sent++
		if err := s.troubled(sent); err != nil {
			return err
		}
		open = p.unanswered(t, open)
		if len(open) > 0 {
			return fmt.Errorf("%d have no data, the first is\n%s", len(open), open[0].expr)
		}
		return nil
	}, all...)
	eventually(t, "the values of what was sent", func() error { return p.checkValues() }, all...)
	eventually(t, "the variables of the dashboard", func() error { return p.checkVariables(t, "shop", "slow", "dark") }, all...)
}

// unanswered asks, and returns what has no data yet. An error is final.
func (p *prometheus) unanswered(t *testing.T, of []question) (open []question) {
	t.Helper()
	for _, q := range of {
		got, err := p.query(q.expr)
		switch {
		case err != nil:
			t.Errorf("%s: %v", q.expr, err)
		case len(got) == 0 && !q.empty:
			open = append(open, q)
		}
	}
	return open
}

// checkValues: the numbers are those that were sent, and the owners of all time
// add up.
func (p *prometheus) checkValues() error {
	for _, c := range []struct {
		expr         string
		want, within float64
	}{
		{`service_fidelity:otelgc_slow_request_gc:share5m{service_name="slow", otelgc_fidelity="exact"}`, 2. / 3, 0.01},
		{`service_cause:otelgc_request_stall:share5m{service_name="slow", otelgc_cause="app"}`, 1. / 3, 0.01},
		{`sum(service_cause:otelgc_request_stall:share5m{service_name="slow"})`, 1, 0.01},
		{`service:otelgc_slow_request_unseen:share5m{service_name="dark"}`, 1, 0.01},
		{`host:otelgc_stolen_cpu:share5m{otelgc_boot_id="stolen"}`, 0.1, 0.01},
		// Its series begin at different times, and each is extrapolated by itself.
		{`sum(service_cause:otelgc_request_stall:share5m{service_name="shop"})`, 1, 0.1},
	} {
		got, err := p.query(c.expr)
		if err != nil || len(got) != 1 {
			return fmt.Errorf("%s: %v, %w, want one number", c.expr, got, err)
		}
		if v := got[0].number(); math.Abs(v-c.want) > c.within {
			return fmt.Errorf("%s = %v, want %v", c.expr, v, c.want)
		}
	}
	return nil
}
