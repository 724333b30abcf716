package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/gopprof"
	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/sidecar/internal/target"
	"github.com/otelgc/otelgc/stall"
)

// targetFlags select the processes that are watched from outside.
type targetFlags struct {
	target, listen, uids, pprof string

	selector target.Selector // the zero one for none
	port     dotnetipc.ListenOptions
}

func (f *targetFlags) add(set *flag.FlagSet) {
	set.StringVar(&f.target, "target", "", "watch `PID|name|auto`: of each such process that is .NET or Go its stops and collections, exported as\nits own telemetry, over restarts, and of a PID also what the machine does to its threads; auto is all\n.NET processes, and all Go processes that do not link otelgc; Go takes CAP_BPF, CAP_PERFMON and Linux 6.6")
	set.StringVar(&f.pprof, "pprof", "", "ask Go processes for slices of their execution trace, too, for 1 % of their own CPU time: at `URL|auto`\n(net/http/pprof); auto tries the sockets of loopback on which a process listens, a URL takes a PID;\nit gives each request that is a span of the OpenTelemetry SDK its time by cause, and takes no right")
	set.StringVar(&f.listen, "listen-diagnostics", "", "make a socket at this `path` for .NET processes that are started with\nDOTNET_DiagnosticPorts=path,nosuspend (without nosuspend they wait for the sidecar at their start)")
	set.StringVar(&f.uids, "listen-diagnostics-uids", "", "let processes of these `users` use that socket, too: numbers with commas between them, or any;\nits mode is 0666 then, and the kernel is asked who connects; else its mode is 0600, and only\nprocesses of root and of the sidecar's own user may")
}

func (f *targetFlags) check() (err error) {
	if f.port, err = parseUIDs(f.uids); err != nil {
		return wrong("--listen-diagnostics-uids %s: %w", f.uids, err)
	}
	if f.uids != "" && f.listen == "" {
		return wrong("--listen-diagnostics-uids: want --listen-diagnostics, too")
	}
	if f.target == "" && f.pprof != "" {
		return wrong("--pprof: want --target, too")
	}
	if f.target == "" {
		return nil
	}
	if f.selector, err = target.Parse(f.target); err != nil {
		return wrong("--target %s: %w", f.target, err)
	}
	if err := gopprof.Check(f.pprof); err != nil {
		return wrong("--pprof: %w", err)
	}
	if f.pprof != "" && f.pprof != gopprof.Auto && f.selector.PID() == 0 {
		return wrong("--pprof URL: want --target PID: a URL is of one process (--pprof auto finds that of each)")
	}
	if pid := f.selector.PID(); pid != 0 {
		if err := missing(pid); err != nil {
			return wrong("--target %s: %w: give the PID of a running process, the name of a program, or auto", f.target, err)
		}
	}
	return nil
}

// parseUIDs parses which users may dial the socket.
func parseUIDs(s string) (o dotnetipc.ListenOptions, err error) {
	if s == "any" {
		return dotnetipc.ListenOptions{AnyUser: true}, nil
	}
	for text := range strings.SplitSeq(s, ",") {
		if text == "" {
			continue
		}
		uid, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return o, errors.New("want numbers of users with commas between them, or any")
		}
		o.UIDs = append(o.UIDs, int(uid))
	}
	return o, nil
}

// missing returns an error if there is certainly no process with this PID.
func missing(pid int) error {
	if _, err := os.Stat("/proc/self"); err != nil {
		return nil // there is no /proc to see it in
	}
	p, err := hostcount.Open(os.DirFS("/"), pid)
	if err == nil {
		p.Close()
	}
	if !errors.Is(err, hostcount.ErrProcess) {
		return nil // what else is wrong is seen when it is watched
	}
	return err
}

// start attaches to the processes; it returns nil if none is to be.
func (f *targetFlags) start(s *sidecar, clock stall.Clock) (*target.Watcher, error) {
	if f.target == "" && f.listen == "" {
		return nil, nil
	}
	w, err := target.Start(target.Options{
		Selector: f.selector, Pprof: f.pprof, Listen: f.listen, Port: f.port, Clock: clock, Log: s.log,
		Proc: dotnetipc.Proc{Calls: &s.calls}, Followed: s.side.followed(), Record: s.keeper(), Progress: s.page.progress(),
	})
	if err != nil {
		return nil, fmt.Errorf("watch processes: %w", err)
	}
	return w, nil
}
