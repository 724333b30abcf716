package attribution

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain: the package has goroutines while it joins, and none when it returns.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
