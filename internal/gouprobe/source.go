package gouprobe

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

var (
	// ErrEnded says that a process is not there, or that it has ended.
	ErrEnded = errors.New("no such process")

	errRights = fmt.Errorf("%w (needs CAP_BPF and CAP_PERFMON; see otelgc-sidecar doctor)", fs.ErrPermission)
)

// batchEvery is the time between two batches.
const batchEvery = 100 * time.Millisecond

// Options configure a Source. PID and Clock must be set.
type Options struct {
	PID   int
	Clock stall.Clock
}

var (
	_ source.Source    = (*Source)(nil)
	_ source.Explainer = (*Source)(nil)
	_ source.Reporter  = (*Source)(nil)
)
