package hungcall

import (
	"context"
	"errors"
	"os"
	"testing"
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
	hung := func() (closer, error) {
		<-answer
		return closed, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
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
	if got := l.Left(); got != 1 {
		t.Errorf("%d calls were left hanging, want 1", got)
	}
}

// TestLimits: no user takes the share of another, and all have a limit.
func TestLimits(t *testing.T) {
	l := &Limiter{hanging: make(map[int]hung)}
	for i := range MaxOfUser {
		l.hanging[1<<30+i] = hung{os.Getuid(), 1}
	}
	call := func() error {
		_, err := Do(t.Context(), l, os.Getpid(), func() (int, error) { return 0, nil })
		return err
	}
	if err := call(); !errors.Is(err, ErrHangs) {
		t.Errorf("with %d calls that hang of this user: got %v, want %v", MaxOfUser, err, ErrHangs)
	}
	for i := range MaxOfUser {
		l.hanging[1<<30+i] = hung{os.Getuid() + 1, 1}
	}
	if err := call(); err != nil {
		t.Errorf("with %d calls that hang of another user: got %v", MaxOfUser, err)
	}
	for i := range MaxHanging {
		l.hanging[1<<30+i] = hung{os.Getuid() + 1 + i, 1}
	}
	if err := call(); !errors.Is(err, ErrHangs) {
		t.Errorf("with %d calls that hang: got %v, want %v", MaxHanging, err, ErrHangs)
	}
}
