package goprocess

import (
	"runtime/debug"
	"slices"
	"strings"
)

// Built returns what a program was built with.
func Built(info *debug.BuildInfo) *Process {
	p := &Process{Program: info.Path, Module: info.Main.Path, ModuleVersion: info.Main.Version, Settings: make(map[string]string)}
	p.Version, p.Experiment, _ = strings.Cut(info.GoVersion, " X:") // "go1.26.8 X:nodwarf5"
	for _, s := range info.Settings {
		p.Settings[s.Key] = s.Value
	}
	if e := p.Settings["GOEXPERIMENT"]; e != "" {
		p.Experiment = e
	}
	return p
}

// buildSettings are those of a build that change how a program runs, or name what
// it was built of. Others, such as -ldflags, may hold what is nobody's business.
var buildSettings = []string{
	"GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOARM", "GO386", "CGO_ENABLED", "-buildmode", "-compiler",
	"-race", "-msan", "-asan", "-pgo", "vcs.revision", "vcs.modified",
}

// Build says in one line what the program was built of, and for what. What is
// absurdly long is left out; it is empty if nothing is known.
func (p *Process) Build() string {
	words := []string{strings.TrimSpace(p.Module + " " + p.ModuleVersion)}
	if p.Program != p.Module {
		words = append([]string{p.Program}, words...)
	}
	for _, name := range buildSettings {
		switch value := p.Settings[name]; {
		case value == "":
		case name == "-pgo": // the path of a profile on another machine
			words = append(words, name)
		default:
			words = append(words, name+"="+value)
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" || len(w) > MaxValue })
	return strings.Join(words, ", ")
}
