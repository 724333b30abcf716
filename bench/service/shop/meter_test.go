package shop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUsagePlus(t *testing.T) {
	a, b := Usage{Cycles: 3, AtSlice: true, Slices: 2, Age: time.Second}, Usage{Cycles: 2, AtSlice: true, Slices: 1, Age: time.Minute}
	if d := cmp.Diff(Usage{Cycles: 1, AtSlice: true, Slices: 1, Age: time.Second}, a.Plus(b, -1)); d != "" {
		t.Errorf("difference (-want +got):\n%s", d)
	}
}
