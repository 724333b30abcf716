package target

import (
	"log/slog"
	"os"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
	"github.com/otelgc/otelgc/stall"
)

// TestHostOfAnother: what the machine does to another process, that was given the
// same number, is nothing of ours.
func TestHostOfAnother(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	id, err := dotnetipc.Proc{}.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		created uint64
		want    bool
	}{
		{"the same", id.Created, true},
		{"another", id.Created - 1, false},
	} {
		p := &process{Options: dotnet.Options{Clock: clock, ID: dotnetipc.Identity{PID: id.PID, Created: test.created}}, log: slog.New(slog.DiscardHandler)}
		p.watchHost(nil)
		if got := p.host.watch != nil; got != test.want {
			t.Errorf("%s: watched %v, want %v", test.name, got, test.want)
		}
		p.host.stop()
	}
}
