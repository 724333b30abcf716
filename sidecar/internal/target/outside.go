package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/internal/recording"
)

// outside is what the files of a process say of its runtime while there is none to
// attach to. It is asked of the process that was named by its number: a report on it
// needs a runtime line, and says why it has no collections.
type outside struct {
	asked   bool
	program fs.FileInfo // that was looked at last, nil if it may not be
	failure string      // of the session before the look
	goes    bool        // it is a Go program
	why     string      // its collections are not watched; empty if it was not asked
}

// lookOutside says what the process is, if it is another than at the last look: a
// launcher may have become the service. It reports whether it is a Go program.
func (p *process) lookOutside(ctx context.Context) (goes bool) {
	if !p.outside.asked || p.summary.Sessions > 0 {
		return false
	}
	program, err := dotnetipc.Look(ctx, p.proc, p.ID.PID, func() (fs.FileInfo, error) {
		return fs.Stat(p.proc.FS(), "proc/"+strconv.Itoa(p.ID.PID)+"/exe")
	})
	if err != nil {
		program = nil
	}
	o := &p.outside
	same := o.why != "" && o.failure == p.failure.Error() && (program == nil) == (o.program == nil) && (program == nil || os.SameFile(program, o.program))
	if same {
		return false
	}
	_, err = p.lookAtGo(ctx)
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil, errors.Is(err, goprogram.ErrStarting):
		return false // it is not known
	case errors.Is(err, goprogram.ErrNotGo):
		o.why = p.failure.Error() + "; and it is no Go program"
	case errors.Is(err, fs.ErrNotExist):
		o.why = p.failure.Error() + "; and it has no program: it is a thread of the kernel, or has ended"
	case errors.Is(err, fs.ErrPermission):
		o.why = fmt.Sprintf("%v; whether it is a Go program is not known: %v: %s", p.failure, err, p.proc.Mend(p.ID.PID, "CAP_SYS_PTRACE"))
	default:
		o.why = fmt.Sprintf("%v; whether it is a Go program is not known: %v", p.failure, err)
	}
	o.program, o.failure = program, p.failure.Error()
	p.summary.Service = p.outsideName(ctx)
	p.recorder.target(recording.Target{
		ID: p.recorder.id, PID: p.ID.PID, Name: p.summary.Service, Runtime: recording.UnknownRuntime, Facts: map[string]string{}, At: p.Clock.Now(), Unwatched: o.why,
	})
	return false
}

// outsideName is what the process's own telemetry calls it, as far as it is known
// without its runtime.
func (p *process) outsideName(ctx context.Context) string {
	env, err := p.proc.Environment(ctx, p.ID.PID)
	if name := strings.TrimSpace(env["OTEL_SERVICE_NAME"]); err == nil && name != "" && len(name) <= maxValue {
		return name
	}
	if args, err := p.proc.Arguments(ctx, p.ID.PID); err == nil && len(args) > 0 && args[0] != "" {
		return filepath.Base(args[0])
	}
	name, err := p.proc.Name(p.ID.PID)
	if err != nil {
		return ""
	}
	return name
}
