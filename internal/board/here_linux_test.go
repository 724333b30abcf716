package board

import (
	"os"
	"strings"
	"testing"
)

func TestHere(t *testing.T) {
	here := Here()
	if got, want := here.PID, int32(os.Getpid()); got != want {
		t.Errorf("pid %d, want %d", got, want)
	}
	if here.Created == 0 {
		t.Error("no creation time")
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !strings.Contains(string(mounts), " - cgroup") {
		t.Skip("no cgroups are mounted")
	}
	for _, id := range here.Cgroups {
		if id == 0 {
			t.Errorf("cgroups %v: one has no id", here.Cgroups)
		}
	}
	if len(here.Cgroups) == 0 {
		t.Error("cgroups are mounted, and this process is in none")
	}
}
