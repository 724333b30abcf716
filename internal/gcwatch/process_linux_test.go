package gcwatch

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	const stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 2\n"
	if got, ok := age([]byte(stat), []byte("125.45 200.00\n")); !ok || got.Round(time.Millisecond) != 2*time.Second {
		t.Errorf("got %v, %v, want 2s", got, ok)
	}
	for _, bad := range [][2]string{{"", ""}, {"7 (a) S 1", "125.45 1"}, {stat, ""}, {stat, "x"}, {stat, "1.00 1"}, {stat, "NaN 1"}} {
		if got, ok := age([]byte(bad[0]), []byte(bad[1])); ok {
			t.Errorf("age(%q, %q): got %v", bad[0], bad[1], got)
		}
	}
	if got, ok := processAge(); !ok || got > time.Since(time.Unix(0, 0)) {
		t.Errorf("this process: got %v, %v", got, ok)
	}
}
