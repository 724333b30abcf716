package stallconnector

import (
	"errors"
	"testing"

	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

// TestWaitOfNothing: a wait of 0s is the default, also for those who wait.
func TestWaitOfNothing(t *testing.T) {
	config := waiting()
	config.Wait = 0
	w, stop := newWhole(t, config)
	defer stop()
	if got, want := w.traces.(*instance).attributor.Wait(), attribution.Default().Wait; got != want {
		t.Errorf("spans are held for %v, want %v", got, want)
	}
}

// TestBetter: an error that may pass is the answer, whichever came first.
func TestBetter(t *testing.T) {
	final, passing := consumererror.NewPermanent(errors.New("no")), errors.New("not now")
	for _, x := range []struct{ a, b, want error }{
		{nil, nil, nil}, {nil, final, final}, {final, nil, final}, {final, passing, passing}, {passing, final, passing}, {passing, nil, passing},
	} {
		if got := better(x.a, x.b); !errors.Is(got, x.want) {
			t.Errorf("of %v and %v: got %v, want %v", x.a, x.b, got, x.want)
		}
	}
}
