package target

import "testing"

func TestSayCounts(t *testing.T) {
	got := sayCounts(map[string]uint64{"gen2": 3, "gen0": 40, "gen1": 5})
	if want := "gen0 40, gen1 5, gen2 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
