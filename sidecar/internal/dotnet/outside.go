package dotnet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/internal/recording"
)

// outside is what the files of a process tell of its runtime while there is none to
// attach to. It is asked of the process that was named by its number: a report on it
// needs a runtime line, and says why it has no collections.
type outside struct {
	asked   bool
	program os.FileInfo // that was looked at last, nil if nobody may
	failure string      // of the session before the look
	goes    bool        // it is a Go program
	why     string      // nobody watches its collections; empty if it was not asked
}

// goUnwatched is why the collections of a Go program are not watched.
const goUnwatched = "it is a Go program, whose collections are not seen from outside: have it record itself (otelgc/record), or export them (otelgc)"

// lookOutside says what the process is, if it is another than at the last look: a
// launcher may have become the service.
func (p *process) lookOutside(ctx context.Context) {
	if !p.outside.asked || p.summary.Sessions > 0 {
		return
	}
	root := p.procRoot()
	program, err := dotnetipc.Look(ctx, p.proc, p.id.PID, func() (os.FileInfo, error) {
		return os.Stat(filepath.Join(root, strconv.Itoa(p.id.PID), "exe"))
	})
	if err != nil {
		program = nil
	}
	o := &p.outside
	same := o.why != "" && o.failure == p.failure.Error() && (program == nil) == (o.program == nil) && (program == nil || os.SameFile(program, o.program))
	if same {
		return
	}
	t := recording.Target{ID: p.tape.id, PID: p.id.PID, Name: p.outsideName(ctx), Runtime: recording.UnknownRuntime, Facts: map[string]string{}, At: p.clock.Now()}
	g, err := dotnetipc.Look(ctx, p.proc, p.id.PID, func() (*goProgram, error) {
		return lookAtGo(os.DirFS(filepath.Dir(root)), p.id.PID)
	})
	if ctx.Err() != nil {
		return // it is not known
	}
	if err == nil && errors.Is(g.EnvErr, goprogram.ErrStarting) {
		return // the next look tells
	}
	o.program, o.failure, o.goes = program, p.failure.Error(), err == nil
	switch {
	case err == nil:
		t.Runtime, t.Facts, o.why = "go", g.line(), goUnwatched
		p.summary.Runtime = g.Version
		p.log.Info("the target is a Go program: its collections are not seen from outside", "runtime", t.Facts["version"],
			"GOGC", t.Facts["GOGC"], "GOMEMLIMIT", t.Facts["GOMEMLIMIT"], "GOMAXPROCS", t.Facts["GOMAXPROCS"], "build", t.Facts[recording.FactBuild])
	case errors.Is(err, goprogram.ErrNotGo):
		o.why = o.failure + "; and it is no Go program"
	case errors.Is(err, fs.ErrNotExist):
		o.why = o.failure + "; and it has no program: it is a thread of the kernel, or has ended"
	case errors.Is(err, fs.ErrPermission):
		o.why = fmt.Sprintf("%s; whether it is a Go program cannot be told: %v: %s", o.failure, err, p.proc.Mend(p.id.PID, "CAP_SYS_PTRACE"))
	default:
		o.why = fmt.Sprintf("%s; whether it is a Go program cannot be told: %v", o.failure, err)
	}
	p.summary.Service = t.Name
	t.Unwatched = o.why
	p.tape.outside(t)
}

// outside tells of a process that is not attached to, if that is news.
func (t *tape) outside(v recording.Target) {
	if t.add == nil || v.Runtime == t.target.Runtime && v.Unwatched == t.target.Unwatched && maps.Equal(v.Facts, t.target.Facts) {
		return
	}
	t.target = v
	t.add(v)
}

func (p *process) procRoot() string {
	if p.proc.Root == "" {
		return "/proc"
	}
	return p.proc.Root
}

// outsideName is what the process's own telemetry calls it, as far as it is known
// without its runtime.
func (p *process) outsideName(ctx context.Context) string {
	env, err := p.proc.Environment(ctx, p.id.PID)
	if name := strings.TrimSpace(env["OTEL_SERVICE_NAME"]); err == nil && name != "" && len(name) <= maxValue {
		return name
	}
	if args, err := p.proc.Arguments(ctx, p.id.PID); err == nil && len(args) > 0 && args[0] != "" {
		return filepath.Base(args[0])
	}
	name, err := p.proc.Name(p.id.PID)
	if err != nil {
		return ""
	}
	return name
}
