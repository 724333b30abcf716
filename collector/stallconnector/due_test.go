package stallconnector

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

// TestDueFor: spans are held for the time that their sender gives, less what it
// takes to hand them on.
func TestDueFor(t *testing.T) {
	now := time.Now()
	for _, x := range []struct{ deadline, wait, want time.Duration }{
		{0, 10 * time.Second, 10 * time.Second},
		{15 * time.Second, 10 * time.Second, 10 * time.Second},
		{10 * time.Second, 10 * time.Second, 8 * time.Second},
		{-time.Second, 10 * time.Second, -800 * time.Millisecond},
	} {
		ctx := context.Background()
		if x.deadline != 0 {
			var cancel func()
			ctx, cancel = context.WithDeadline(ctx, now.Add(x.deadline))
			defer cancel()
		}
		if got := dueFor(ctx, now, x.wait).Sub(now); got != x.want {
			t.Errorf("deadline %v, wait %v: held for %v, want %v", x.deadline, x.wait, got, x.want)
		}
	}
}

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
