package target

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/goprogram"
)

// TestGoLine: what is said of a Go program from outside is what it was started
// with, and what cannot be known is unknown, for a reason.
func TestGoLine(t *testing.T) {
	whole := func() *goProgram {
		return &goProgram{Program: &goprogram.Program{Version: "go1.26.8", Env: map[string]string{}, Settings: map[string]string{}}, cpus: 8}
	}
	line := func(procs string) map[string]string {
		return map[string]string{
			"version": "go1.26.8", "GOGC": "100 as started", "GOMEMLIMIT": "off as started", "GOMAXPROCS": procs,
			"GODEBUG": "none as started", "GOEXPERIMENT": "none",
		}
	}
	with := func(changes ...string) map[string]string {
		l := line("8 as started, of 8 CPUs and no quota")
		for i := 0; i < len(changes); i += 2 {
			l[changes[i]] = changes[i+1]
		}
		return l
	}
	const noEnv = "unknown: its environment may not be read"
	long := strings.Repeat("x", goprogram.MaxValue+1)
	for _, test := range []struct {
		name   string
		change func(*goProgram)
		want   map[string]string
	}{
		{"nothing is set", func(*goProgram) {}, with()},
		{"all is set", func(g *goProgram) {
			g.Env = map[string]string{"GOGC": "off", "GOMEMLIMIT": "512MiB", "GOMAXPROCS": "3", "GODEBUG": "gctrace=1"}
			g.Settings["DefaultGODEBUG"], g.Experiment = "panicnil=1", "jsonv2"
		}, with("GOGC", "off as started", "GOMEMLIMIT", "512MiB as started", "GOMAXPROCS", "3 as started",
			"GODEBUG", "gctrace=1 as started, panicnil=1 built in", "GOEXPERIMENT", "jsonv2")},
		{"what the runtime does not take", func(g *goProgram) { g.Env = map[string]string{"GOGC": "much", "GOMAXPROCS": "0"} }, with()},
		{"a quota", func(g *goProgram) { g.quota = 2.5 }, line("3 as started, of 8 CPUs and a quota of 2.5")},
		{"one CPU", func(g *goProgram) { g.cpus = 1 }, line("1 as started, of 1 CPU and no quota")},
		{"a quota that an older one does not heed", func(g *goProgram) { g.Version, g.quota = "go1.24.9", 2.5 },
			with("version", "go1.24.9", "GOMAXPROCS", "8 as started, of 8 CPUs")},
		{"a quota that nobody sees", func(g *goProgram) { g.quotaErr = cgroup.ErrUnseen },
			line("unknown: it is not set, and the process's quota is not known: its cgroup cannot be seen from here")},
		{"a quota that nobody sees, and it is set", func(g *goProgram) { g.quotaErr, g.Env["GOMAXPROCS"] = cgroup.ErrUnseen, "3" }, line("3 as started")},
		{"CPUs that nobody sees", func(g *goProgram) { g.cpusErr = errors.New("no list") },
			line("unknown: it is not set, and the process's CPUs are not known: no list")},
		{"no right to the environment", func(g *goProgram) { g.Env, g.EnvErr = nil, fs.ErrPermission },
			with("GOGC", noEnv, "GOMEMLIMIT", noEnv, "GOMAXPROCS", noEnv, "GODEBUG", noEnv)},
		{"an absurd value", func(g *goProgram) { g.Env["GODEBUG"] = long }, with("GODEBUG", "unknown: it has more than 256 bytes")},
		{"an absurd program", func(g *goProgram) { g.Version, g.Path = long, long },
			with("version", "unknown: it has more than 256 bytes", "GOMAXPROCS", "8 as started, of 8 CPUs")},
		{"a build", func(g *goProgram) {
			g.Path, g.Module, g.ModuleVersion = "example.com/shop/cmd/orders", "example.com/shop", "v1.2.3"
			g.Settings = map[string]string{"GOARCH": "amd64", "GOAMD64": "v3", "-race": "true", "CGO_ENABLED": "0", "-ldflags": "-X main.token=secret", "-pgo": "/home/x/default.pgo"}
		}, with("build", "example.com/shop/cmd/orders, example.com/shop v1.2.3, GOARCH=amd64, GOAMD64=v3, CGO_ENABLED=0, -race=true, -pgo")},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := whole()
			test.change(g)
			if diff := cmp.Diff(test.want, g.line()); diff != "" {
				t.Errorf("runtime line (-want +got):\n%s", diff)
			}
		})
	}
}
