package otelgc

import (
	"math"
	"testing"
)

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]Option{
		"budget below zero": WithExactBudget(-0.1),
		"budget above one":  WithExactBudget(1.1),
		"budget NaN":        WithExactBudget(math.NaN()),
		"arrival format":    WithArrivalHeader("X", 99),
	} {
		if m, err := Start(o, WithBoard("")); err == nil {
			t.Errorf("%s: no error", name)
			shutdown(t, m)
		}
	}
	for _, text := range []string{"x", "-1", "2", "NaN", "1e999"} {
		t.Setenv(budgetEnv, text)
		if m, err := Start(WithBoard("")); err == nil {
			t.Errorf("%s=%s: no error", budgetEnv, text)
			shutdown(t, m)
		}
	}
	t.Setenv(budgetEnv, "0")
	m := startTest(t) // what was refused before left nothing behind
	if !m.exact.Finished() {
		t.Error("budget 0 from the environment, and exact fidelity is on")
	}
}
