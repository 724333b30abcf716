// Command dotnet measures what the sidecar costs a .NET service, itself, and
// what happens when it does not read.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/pin"
	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/dotnetipc"
)

func main() { program().Main() }

func program() report.Program {
	b := &bench{}
	return report.Program{Name: "dotnet", Title: "What the sidecar costs a .NET service", Flags: b.flags, Measure: b.all}
}

// bench is what the flags say, and what all measurements use.
type bench struct {
	pairs, few           int
	warmup, settle, span time.Duration
	rounds, sessions     int
	beat                 time.Duration
	stall, memory        time.Duration
	targets              int
	pin                  bool

	log      io.Writer
	binary   string // the sidecar
	endpoint string // of what takes its telemetry
	service  []int  // CPUs; nil: anywhere
}

func (b *bench) flags(f *flag.FlagSet) {
	f.IntVar(&b.pairs, "pairs", 14, "pairs of stretches as the sidecar is run by default")
	f.IntVar(&b.few, "few", 6, "pairs of stretches of each other setting")
	f.DurationVar(&b.warmup, "warmup", 8*time.Second, "load before anything is measured, in each process")
	f.DurationVar(&b.settle, "settle", 500*time.Millisecond, "load before each stretch")
	f.DurationVar(&b.span, "span", 2*time.Second, "length of a stretch")
	f.IntVar(&b.rounds, "rounds", 16, "rounds of stretches with many sessions at once; 0 leaves them out")
	f.IntVar(&b.sessions, "sessions", 40, "the most sessions at once then, of the 64 that a process has")
	f.DurationVar(&b.beat, "beat", 500*time.Millisecond, "length of a stretch then")
	f.DurationVar(&b.stall, "stall", 30*time.Second, "how long a reader stalls; 0 leaves it out")
	f.DurationVar(&b.memory, "memory", 30*time.Second, "how long the sidecar's memory is watched; 0 leaves it out")
	f.IntVar(&b.targets, "targets", 5, "processes that are watched at once then")
	f.BoolVar(&b.pin, "pin", true, "run the service on half of the CPUs, load and sidecar on the others")
	f.StringVar(&b.binary, "sidecar", "", "the `binary` to measure; built if empty")
}

// all writes the whole section.
func (b *bench) all(ctx context.Context, s *report.Section, log io.Writer) error {
	b.log = log
	if most := dotnetipc.MaxSessions - 4; b.sessions < 4 || b.sessions > most || b.sessions%2 != 0 {
		return fmt.Errorf("-sessions %d: want an even number from 4 to %d", b.sessions, most)
	}
	end, err := b.prepare(ctx)
	if err != nil {
		return err
	}
	return errors.Join(b.measure(ctx, s), end())
}

// prepare builds the sidecar, gives its telemetry somewhere to go, and divides
// the CPUs. What it returns clears up.
func (b *bench) prepare(ctx context.Context) (end func() error, err error) {
	end = func() error { return nil }
	if b.binary == "" {
		dir, err := os.MkdirTemp("", "otelgc-dotnet-")
		if err != nil {
			return nil, err
		}
		end = func() error { return os.RemoveAll(dir) }
		b.binary = filepath.Join(dir, "otelgc-sidecar")
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", b.binary, "github.com/otelgc/otelgc/sidecar")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, errors.Join(fmt.Errorf("build sidecar: %w\n%s", err, out), end())
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, end())
	}
	collector := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	})}
	go func() { _ = collector.Serve(listener) }() // ends with Close
	b.endpoint = "http://" + listener.Addr().String()
	remove := end
	end = func() error { return errors.Join(collector.Close(), remove()) }
	if b.pin {
		var mine []int
		b.service, mine = pin.Halves()
		if err := pin.Process(mine); err != nil {
			return nil, errors.Join(err, end())
		}
	}
	return end, nil
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.log, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

func (b *bench) measure(ctx context.Context, s *report.Section) error {
	if err := b.measureCost(ctx, s); err != nil {
		return err
	}
	if err := b.measureAmplified(ctx, s); err != nil {
		return fmt.Errorf("many sessions: %w", err)
	}
	if b.memory > 0 {
		if err := b.measureMemory(ctx, s); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
	}
	if b.stall > 0 {
		if err := b.measureStall(ctx, s); err != nil {
			return fmt.Errorf("stalled reader: %w", err)
		}
	}
	return nil
}
