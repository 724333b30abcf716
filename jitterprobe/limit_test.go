package jitterprobe

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
)

// TestMendOfInterrupts: what is there already is nothing to grant, and what no right
// gives has no mend.
func TestMendOfInterrupts(t *testing.T) {
	denied, absent := fmt.Errorf("open: %w", fs.ErrPermission), errors.New("no such device")
	for name, c := range map[string]struct {
		rights kernel.Rights
		want   string
	}{
		"neither":              {kernel.Rights{Tracefs: denied, CPU: denied}, "grant CAP_PERFMON, and mount tracefs where this process can read it or grant CAP_SYS_ADMIN"},
		"CAP_PERFMON":          {kernel.Rights{Tracefs: denied}, "mount tracefs where this process can read it, or grant CAP_SYS_ADMIN"},
		"tracefs":              {kernel.Rights{CPU: denied}, "grant CAP_PERFMON"},
		"no tracefs in kernel": {kernel.Rights{Tracefs: absent, CPU: denied}, ""},
		"no event in kernel":   {kernel.Rights{Tracefs: denied, CPU: absent}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := limits(Spin, Options{Interrupts: true}, nil, c.rights)
			if len(all) != 1 || all[0].Mend != c.want {
				t.Errorf("limits %v, want one with the mend %q", all, c.want)
			}
		})
	}
	if all := limits(Spin, Options{Interrupts: true}, nil, kernel.Rights{}); len(all) != 0 {
		t.Errorf("limits %v with all rights, want none", all)
	}
}
