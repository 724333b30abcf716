package gcwatch

import (
	"testing"

	"github.com/otelgc/otelgc/stall/gc"
)

func TestKindOf(t *testing.T) {
	for env, want := range map[string]gc.Kind{
		"":                                     gc.Background,
		"gctrace=1":                            gc.Background,
		"gcstoptheworld=1":                     gc.FullBlocking,
		"gctrace=1,gcstoptheworld=2":           gc.FullBlocking,
		"gcstoptheworld=2,gcstoptheworld=0":    gc.Background,
		"gcstoptheworldly=1,xgcstoptheworld=1": gc.Background,
	} {
		if got := KindOf(env); got != want {
			t.Errorf("%q: got %v, want %v", env, got, want)
		}
	}
}
