package telemetry

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestOutboxWaitsForTheSlow: what takes its time is waited for as long as the context
// has some, however much waits.
func TestOutboxWaitsForTheSlow(t *testing.T) {
	const n, takes = 1000, 5 * time.Millisecond
	for name, c := range map[string]struct {
		within time.Duration
		left   int
	}{
		"enough": {30 * time.Second, 0},
		"little": {takes*n/2 + takes/2, n/2 - 1}, // the one under way returns
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, called := NewOutbox(n), 0
				for range n {
					o.Put(func(context.Context) {
						time.Sleep(takes)
						called++
					})
				}
				ctx, cancel := context.WithTimeout(context.Background(), c.within)
				defer cancel()
				left := o.Close(ctx)
				synctest.Wait()
				if left != c.left || called != n-c.left {
					t.Errorf("%d called, %d left, want %d and %d", called, left, n-c.left, c.left)
				}
			})
		})
	}
}

// TestOutboxGivesUpOnce: a call that hangs is waited for a second, and what is left
// because of it is told of once, however often the Outbox is closed.
func TestOutboxGivesUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, goOn, began := NewOutbox(8), make(chan struct{}), time.Now()
		for range 3 {
			o.Put(func(context.Context) { <-goOn })
		}
		var left [2]int
		for i := range left {
			left[i] = o.Close(context.Background())
		}
		if want := [2]int{3, 0}; left != want {
			t.Errorf("%d were left, want %d", left, want)
		}
		if took, most := time.Since(began), 2*(patience+unwind); took > most {
			t.Errorf("it took %v, want at most %v", took, most)
		}
		close(goOn)
		synctest.Wait()
		if o.busy != nil {
			t.Error("its goroutine is still there")
		}
	})
}
