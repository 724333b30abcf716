package hungcall

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// closer tells when it is closed.
type closer chan struct{}

func (c closer) Close() error {
	close(c)
	return nil
}

// TestDo: a caller leaves a call that hangs, what it returns later is closed, and
// until then the process is not asked again.
func TestDo(t *testing.T) {
	l := new(Limiter)
	if v, err := Do(t.Context(), l, 7, func() (int, error) { return 3, nil }); v != 3 || err != nil {
		t.Fatalf("got %d, %v, want 3", v, err)
	}
	answer, closed := make(chan struct{}), make(closer)
	ctx, cancel := context.WithCancel(t.Context())
	hung := func() (closer, error) {
		cancel()
		<-answer
		return closed, nil
	}
	if v, err := Do(ctx, l, 7, hung); v != nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: got %v, %v, want %v", v, err, context.Canceled)
	}
	never := func() (int, error) {
		t.Error("a process for which a call hangs is asked again")
		return 0, nil
	}
	if _, err := Do(t.Context(), l, 7, never); !errors.Is(err, ErrHangs) {
		t.Errorf("the next call: got %v, want %v", err, ErrHangs)
	}
	close(answer)
	<-closed
	for {
		// It is over a moment after what it returned was closed.
		if _, err := Do(t.Context(), l, 7, func() (int, error) { return 0, nil }); err == nil {
			break
		}
	}
	if got := l.Left(); got != 0 {
		t.Errorf("%d calls were given up, want 0: one had time left when it was cancelled", got)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(0, 0))
	cancel()
	overdue := &call{pid: 7}
	if c, err := l.admit(overdue); c != nil || err != nil {
		t.Fatal(err)
	}
	l.leave(overdue, cause(ctx))
	if got := l.Left(); got != 1 {
		t.Errorf("%d calls were given up, want the one past its deadline", got)
	}
}

// TestLimits: no user takes the share of another, and all have a limit.
func TestLimits(t *testing.T) {
	l := &Limiter{calls: make(map[*call]bool)}
	hang := func(n int, user func(int) int) {
		clear(l.calls)
		for i := range n {
			l.calls[&call{1<<30 + i, user(i)}] = true
		}
	}
	look := func() error {
		_, err := Do(t.Context(), l, os.Getpid(), func() (int, error) { return 0, nil })
		return err
	}
	hang(MaxOfUser, func(int) int { return os.Getuid() })
	if err := look(); !errors.Is(err, ErrHangs) {
		t.Errorf("with %d calls that hang of this user: got %v, want %v", MaxOfUser, err, ErrHangs)
	}
	hang(MaxOfUser, func(int) int { return os.Getuid() + 1 })
	if err := look(); err != nil {
		t.Errorf("with %d calls that hang of another user: got %v", MaxOfUser, err)
	}
	hang(MaxCalls, func(i int) int { return os.Getuid() + 1 + i })
	if err := look(); !errors.Is(err, ErrHangs) {
		t.Errorf("with %d calls that hang: got %v, want %v", MaxCalls, err, ErrHangs)
	}
}

// TestAtOnce: calls that are begun at once wait for each other, and no more of them
// than a user may have are left hanging.
func TestAtOnce(t *testing.T) {
	l := new(Limiter)
	const calls = 4 * MaxOfUser
	var most, now atomic.Int64
	over := make(chan error)
	for range calls {
		go func() {
			_, err := Do(t.Context(), l, os.Getpid(), func() (int, error) {
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				runtime.Gosched()
				now.Add(-1)
				return 0, nil
			})
			over <- err
		}()
	}
	for range calls {
		if err := <-over; err != nil {
			t.Errorf("got %v", err)
		}
	}
	if most.Load() > MaxOfUser {
		t.Errorf("%d calls were under way at once, want at most %d", most.Load(), MaxOfUser)
	}
	answer := make(chan struct{})
	defer close(answer)
	ctx, cancel := context.WithCancel(t.Context())
	for pid := range calls {
		go func() {
			_, err := Do(ctx, l, 1<<30+pid, func() (int, error) {
				now.Add(1)
				<-answer
				return 0, nil
			})
			over <- err
		}()
	}
	for now.Load() < MaxOfUser {
		runtime.Gosched()
	}
	cancel()
	for range calls {
		if err := <-over; err == nil {
			t.Error("a call that hangs returned")
		}
	}
	if got := len(l.calls); got != MaxOfUser {
		t.Errorf("%d calls were left hanging, want %d", got, MaxOfUser)
	}
}
