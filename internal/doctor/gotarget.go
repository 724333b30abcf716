package doctor

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"go/version"
	"io"
	"math"
	"strconv"
	"strings"
)

// goProcess is what a Go target was built and started with.
type goProcess struct {
	version string            // such as go1.26.1
	debug   string            // GODEBUG that the main package was built with
	env     map[string]string // of goVariables
}

// goVariables are all that is read of another process's environment.
var goVariables = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"}

// targetGo judges what a Go target was started with.
func (m *machine) targetGo() []Check {
	if m.target == 0 {
		return nil
	}
	c := about("target.go", m.targetFile("exe"))
	p, err := m.goTarget()
	if err != nil {
		return []Check{c.none(why(err))}
	}
	var set []string
	for _, name := range goVariables {
		if v, ok := p.env[name]; ok {
			set = append(set, fmt.Sprintf("%s=%.60s", name, v))
		}
	}
	value := p.version
	if len(set) > 0 {
		value += ", " + strings.Join(set, " ")
	}
	return []Check{c.info(value, ""), m.maxProcs(p)}
}

func (m *machine) goTarget() (*goProcess, error) {
	f, err := m.Open(m.targetFile("exe"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	at, ok := f.(io.ReaderAt)
	if !ok {
		return nil, errors.New("cannot be read at an offset")
	}
	info, err := buildinfo.Read(at)
	if err != nil {
		return nil, fmt.Errorf("no Go program: %w", err)
	}
	p := &goProcess{version: info.GoVersion, env: map[string]string{}}
	for _, s := range info.Settings {
		if s.Key == "DefaultGODEBUG" {
			p.debug = s.Value
		}
	}
	text, err := m.bytes(m.targetFile("environ"), maxFile)
	if err != nil {
		return nil, fmt.Errorf("%s, but its environment: %s", p.version, why(err))
	}
	for entry := range strings.SplitSeq(string(text), "\x00") {
		for _, name := range goVariables {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				p.env[name] = v
			}
		}
	}
	return p, nil
}

// procs returns the GOMAXPROCS that p began with, on so many CPUs and under a
// quota, 0 for none. Since Go 1.25 the runtime heeds the quota: rounded up, and
// at least 2 (runtime.GOMAXPROCS, "default"). What the program set later is not
// known.
func (p *goProcess) procs(cpus int, quota float64) int {
	if n, err := strconv.Atoi(p.env["GOMAXPROCS"]); err == nil && n > 0 {
		return n
	}
	release, _, _ := strings.Cut(p.version, " ") // "go1.25.1 X:nosomething"
	off := "containermaxprocs=0"
	debug := p.debug
	if e := p.env["GODEBUG"]; strings.Contains(e, "containermaxprocs=") {
		debug = e
	}
	if quota > 0 && version.Compare(release, "go1.25") >= 0 && !strings.Contains(debug, off) {
		return min(cpus, max(2, int(math.Ceil(min(quota, maxCPUs)))))
	}
	return cpus
}
