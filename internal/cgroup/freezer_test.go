package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFreezers(t *testing.T) {
	const mountFreezer = "33 20 0:29 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
	root := tree("6:freezer:/p\n0::/u\n", mountFreezer+mountV2, map[string]string{
		"sys/fs/cgroup/freezer/p/freezer.state": "THAWED\n", "sys/fs/cgroup/u/cgroup.events": "populated 1\nfrozen 0\n",
	})
	want := []Freezer{{"sys/fs/cgroup/u/cgroup.events", "frozen 1"}, {"sys/fs/cgroup/freezer/p/freezer.state", "FROZEN"}}
	for _, test := range []struct {
		name, gone string
		want       []Freezer
	}{
		{name: "both", want: want},
		{name: "v2 at its top", gone: want[0].File, want: want[1:]},
		{name: "none", gone: want[1].File},
	} {
		delete(root, test.gone)
		got, err := Freezers(root, "7")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
