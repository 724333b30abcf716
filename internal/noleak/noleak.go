// Package noleak holds tests to leaving no goroutine behind. It is goleak without
// its clock: that gives a goroutine which is about to end less than half a second,
// and on a machine with more to do than CPUs one can wait longer for its turn.
package noleak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is a guard, not a claim: no goroutine that can end waits for that long.
const patience = 2 * time.Minute

// Check fails t, when it is over, for each goroutine that does not end. It is called
// before what starts them has its own cleanup.
func Check(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if err := find(patience); err != nil {
			t.Error(err)
		}
	})
}

// Main runs the tests of a package and fails them all for a goroutine that does not
// end.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := find(patience); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// find returns what has not ended when patience has.
func find(patience time.Duration) error {
	for begin := time.Now(); ; {
		err := goleak.Find()
		if err == nil || time.Since(begin) > patience {
			return err
		}
	}
}
