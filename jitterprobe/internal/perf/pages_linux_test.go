package perf

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestAsMany: who may lock less memory has a smaller ring; what fails for
// another reason is not tried again.
func TestAsMany(t *testing.T) {
	for _, c := range []struct {
		allowed int
		why     error
		want    int // pages, 0 for none
		tries   int
	}{
		{allowed: 64, why: unix.EPERM, want: 64, tries: 1},
		{allowed: 20, why: unix.EPERM, want: 16, tries: 3},
		{allowed: 7, why: unix.EPERM, want: 0, tries: 4},
		{allowed: 20, why: unix.ENOMEM, want: 0, tries: 1},
	} {
		tries := 0
		mem, err := asMany(64, func(pages int) ([]byte, error) {
			tries++
			if pages > c.allowed {
				return nil, c.why
			}
			return make([]byte, pages), nil
		})
		if len(mem) != c.want || (err == nil) != (c.want > 0) || tries != c.tries {
			t.Errorf("of at most %d, else %v: %d pages in %d tries, %v; want %d in %d", c.allowed, c.why, len(mem), tries, err, c.want, c.tries)
		}
	}
}
