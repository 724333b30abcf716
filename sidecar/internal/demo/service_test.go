package demo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOrphan: the service of a parent that was killed takes the parent's directory
// away, and no other; that of one that is there leaves it alone.
func TestOrphan(t *testing.T) {
	for _, tt := range []struct {
		name, dir string
		parent    int
		stays     bool
	}{
		{"killed", dirPrefix + "1", os.Getppid(), false},
		{"killed, and another directory", "mine", os.Getppid(), true},
		{"there", dirPrefix + "1", os.Getpid(), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), tt.dir)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "board"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			p, err := startProcess(t.Context(), roleService, childOptions{
				LiveHeap: MinLiveHeap, Inject: InjectNone, Limit: time.Minute, Parent: tt.parent, Dir: dir,
			}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			orphaned := tt.parent != os.Getpid()
			if err := p.stop(time.Minute); (err != nil) != orphaned {
				t.Errorf("the service ended with %v, want an error: %v", err, orphaned)
			}
			if _, err := os.Stat(dir); (err == nil) != tt.stays {
				t.Errorf("directory: %v, want it to be there: %v", err, tt.stays)
			}
		})
	}
}

func TestComplaints(t *testing.T) {
	var c complaints
	c.Handle(errors.New("otelgc: the machine was held up"))
	c.Handle(errors.New("otelgc: the machine was held up"))
	if diff := cmp.Diff([]string{"the machine was held up"}, c.list()); diff != "" {
		t.Errorf("complaints (-want +got):\n%s", diff)
	}
	for i := range 2 * maxComplaints {
		c.Handle(fmt.Errorf("number %d", i))
	}
	if n := len(c.list()); n != maxComplaints {
		t.Errorf("%d are kept, want %d", n, maxComplaints)
	}
}
