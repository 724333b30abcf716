package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// TestListenUIDs: who may dial is a list of numbers or any, and nothing without a port.
func TestListenUIDs(t *testing.T) {
	for _, c := range []struct {
		listen, uids string
		want         dotnetipc.ListenOptions
		wrong        bool
	}{
		{listen: "/p", uids: ""},
		{listen: "/p", uids: "1654", want: dotnetipc.ListenOptions{UIDs: []int{1654}}},
		{listen: "/p", uids: "1654,0", want: dotnetipc.ListenOptions{UIDs: []int{1654, 0}}},
		{listen: "/p", uids: "any", want: dotnetipc.ListenOptions{AnyUser: true}},
		{listen: "/p", uids: "app", wrong: true},
		{listen: "/p", uids: "-1", wrong: true},
		{listen: "/p", uids: "any,1", wrong: true},
		{listen: "/p", uids: "4294967295", wrong: true},
		{uids: "1654", wrong: true},
	} {
		f := targetFlags{listen: c.listen, uids: c.uids}
		err := f.check()
		if (err != nil) != c.wrong {
			t.Errorf("%q: got %v, want an error: %v", c.uids, err, c.wrong)
		}
		if diff := cmp.Diff(c.want, f.port); diff != "" && !c.wrong {
			t.Errorf("%q (-want +got):\n%s", c.uids, diff)
		}
	}
}
