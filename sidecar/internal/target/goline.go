package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
)

// goProgram is what is known of a process whose program is Go.
type goProgram struct {
	*goprogram.Program
	cpus     int // that it may use
	cpusErr  error
	quota    float64 // of its own cgroup, 0 for none
	quotaErr error
}

// lookAtGo finds out what the process was built and started with. The error is that of
// goprogram.Read, or goprogram.ErrStarting.
func (p *process) lookAtGo(ctx context.Context) (*goProgram, error) {
	return dotnetipc.Look(ctx, p.proc, p.ID.PID, func() (*goProgram, error) { return readGoProgram(p.proc.FS(), p.ID.PID) })
}

func readGoProgram(root fs.FS, pid int) (*goProgram, error) {
	p, err := goprogram.Read(root, pid)
	if err == nil && errors.Is(p.EnvErr, goprogram.ErrStarting) {
		err = p.EnvErr
	}
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
