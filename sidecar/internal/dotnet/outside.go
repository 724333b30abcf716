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
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
)

// outside is what the files of a process say of its runtime while there is none to
// attach to. It is asked of the process that was named by its number: a report on it
// needs a runtime line, and says why it has no collections.
type outside struct {
	asked   bool
	program os.FileInfo // that was looked at last, nil if it may not be
	failure string      // of the session before the look
	goes    bool        // it is a Go program
	why     string      // its collections are not watched; empty if it was not asked
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
	program, err := dotnetipc.Look(ctx, p.proc, p.ID.PID, func() (os.FileInfo, error) {
		return os.Stat(filepath.Join(root, strconv.Itoa(p.ID.PID), "exe"))
	})
	if err != nil {
		program = nil
	}
	o := &p.outside
	same := o.why != "" && o.failure == p.failure.Error() && (program == nil) == (o.program == nil) && (program == nil || os.SameFile(program, o.program))
	if same {
		return
	}
	t := recording.Target{ID: p.recorder.id, PID: p.ID.PID, Name: p.outsideName(ctx), Runtime: recording.UnknownRuntime, Facts: map[string]string{}, At: p.Clock.Now()}
	g, err := dotnetipc.Look(ctx, p.proc, p.ID.PID, func() (*goProgram, error) {
		return lookAtGo(os.DirFS(filepath.Dir(root)), p.ID.PID)
	})
	if ctx.Err() != nil {
		return // it is not known
	}
	if err == nil && errors.Is(g.EnvErr, goprogram.ErrStarting) {
		return // until the next look
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
		o.why = fmt.Sprintf("%s; whether it is a Go program is not known: %v: %s", o.failure, err, p.proc.Mend(p.ID.PID, "CAP_SYS_PTRACE"))
	default:
		o.why = fmt.Sprintf("%s; whether it is a Go program is not known: %v", o.failure, err)
	}
	p.summary.Service = t.Name
	t.Unwatched = o.why
	p.recorder.outside(t)
}

// outside records a process that is not attached to, if that is news.
func (t *recorder) outside(v recording.Target) {
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

// goProgram is what is known of a process whose program is Go.
type goProgram struct {
	*goprogram.Program
	cpus     int // that it may use
	cpusErr  error
	quota    float64 // of its own cgroup, 0 for none
	quotaErr error
}

// lookAtGo finds out what a process was built and started with.
func lookAtGo(root fs.FS, pid int) (*goProgram, error) {
	p, err := goprogram.Read(root, pid)
	if err != nil {
		return nil, err
	}
	g := &goProgram{Program: p}
	cpus, err := proc.CPUs(root, strconv.Itoa(pid))
	g.cpus, g.cpusErr = len(cpus), err
	g.quota, g.quotaErr = goprogram.Quota(root, strconv.Itoa(pid))
	return g, nil
}

// asStarted marks a setting that the program may have changed since.
const asStarted = " as started"

// line returns the facts of recording.RuntimeFacts. What the environment says is
// what the program was started with, and so is the default where it says nothing:
// debug.SetGCPercent and its like cannot be seen from outside.
func (g *goProgram) line() map[string]string {
	facts := map[string]string{
		"version": known(g.Version), "GOEXPERIMENT": known(orNone(g.Experiment)),
		"GOGC": g.percent(), "GOMEMLIMIT": g.limit(), "GOMAXPROCS": g.procs(), "GODEBUG": g.debug(),
	}
	if build := g.Build(); build != "" {
		facts[recording.FactBuild] = build
	}
	return facts
}

// known returns a text that another program has written.
func known(text string) string {
	switch {
	case text == "":
		return unknown
	case len(text) > goprogram.MaxValue:
		return fmt.Sprintf("%s: it has more than %d bytes", unknown, goprogram.MaxValue)
	}
	return text
}

// set returns what a variable was set to, empty for nothing. What is not known is
// the answer already, and not ok.
func (g *goProgram) set(name string) (value string, ok bool) {
	switch {
	case errors.Is(g.EnvErr, fs.ErrPermission):
		return unknown + ": its environment may not be read", false
	case g.EnvErr != nil:
		return unknown + ": " + g.EnvErr.Error(), false
	}
	value = g.Env[name]
	if len(value) > goprogram.MaxValue {
		return known(value), false
	}
	return value, true
}

// percent is GOGC as the runtime takes it: 100 for what is no number.
func (g *goProgram) percent() string {
	value, ok := g.set("GOGC")
	if !ok {
		return value
	}
	if _, err := strconv.ParseInt(value, 10, 32); err != nil && value != "off" {
		value = "100"
	}
	return value + asStarted
}

// limit is GOMEMLIMIT. With one that is wrong no program starts.
func (g *goProgram) limit() string {
	value, ok := g.set("GOMEMLIMIT")
	if !ok {
		return value
	}
	if value == "" {
		value = "off"
	}
	return value + asStarted
}

func (g *goProgram) debug() string {
	value, ok := g.set("GODEBUG")
	if !ok {
		return value
	}
	text := orNone(value) + asStarted
	if built := g.Settings["DefaultGODEBUG"]; built != "" {
		text += ", " + built + " built in"
	}
	return known(text)
}

// procs is GOMAXPROCS. Where it is not set, it follows from CPUs and quota, and
// since Go 1.25 it follows them as they change.
func (g *goProgram) procs() string {
	if value, ok := g.set("GOMAXPROCS"); !ok {
		return value
	}
	if n, set := g.SetProcs(); set {
		return strconv.Itoa(n) + asStarted
	}
	if g.cpusErr != nil {
		return unknown + ": it is not set, and the process's CPUs are not known: " + g.cpusErr.Error()
	}
	text := "of " + strconv.Itoa(g.cpus) + " CPU"
	if g.cpus != 1 {
		text += "s"
	}
	if g.HeedsQuota() {
		switch {
		case g.quotaErr != nil:
			return unknown + ": it is not set, and the process's quota is not known: " + g.quotaErr.Error()
		case g.quota > 0:
			text += fmt.Sprintf(" and a quota of %.3g", g.quota)
		default:
			text += " and no quota"
		}
	}
	return fmt.Sprintf("%d%s, %s", g.Procs(g.cpus, g.quota), asStarted, text)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
