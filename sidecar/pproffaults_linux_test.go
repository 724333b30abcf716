package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/otelgc/otelgc/internal/gouprobe"
)

// pulled is what run --json says of a service whose trace was asked for.
type pulled struct {
	PID         int
	Doors, Why  string
	Lost        uint64
	Collections struct{ Total uint64 }
	Pprof       struct {
		Slices, Failed uint64
		Why            string
	}
}

// pull starts a sidecar that asks the service for its trace.
func (s *service) pull() *background {
	s.t.Helper()
	return startSidecar(s.t, withoutExport, "run", "--board=off", "--mode=periodic", "--page=127.0.0.1:0", "--json", "--target", fmt.Sprint(s.cmd.Process.Pid), "--pprof", s.url)
}

// ended ends the sidecar, in good order, and returns what it saw.
func (s *service) ended(run *background) pulled {
	s.t.Helper()
	if err := run.end(syscall.SIGTERM); err != nil {
		s.t.Fatalf("run: %v, want that it ends in good order: %s", err, run.log())
	}
	got := one[struct{ Targets []pulled }](s.t, run.stdout.String()).Targets
	if len(got) != 1 || got[0].PID != s.cmd.Process.Pid {
		s.t.Fatalf("targets %+v, want process %d", got, s.cmd.Process.Pid)
	}
	return got[0]
}

// What data.json says when a slice was taken whole, and when it was or has failed.
var (
	whole = regexp.MustCompile(`"slices": ?[1-9]`)
	taken = regexp.MustCompile(`"(slices|failed)": ?[1-9]`)
)

// untilPage waits until data.json has something.
func (b *background) untilPage(has *regexp.Regexp) {
	b.t.Helper()
	b.await("its page has "+has.String(), func() bool {
		at := pageURL.FindStringSubmatch(b.log())
		if at == nil {
			return false
		}
		a, err := http.Get(at[1] + "data.json")
		if err != nil {
			b.t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		return err == nil && has.Match(text)
	})
}

// refused is what is said of a slice that failed.
const refused = "the process did not give its trace"

// TestTracerInUse: while another has the tracer one line says so, and later it is ours.
func TestTracerInUse(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	other, err := http.Get(s.url + "/debug/pprof/trace?seconds=3600")
	if err != nil {
		t.Fatal(err)
	}
	s.traced(true)
	run := s.pull()
	run.await("it was refused", func() bool { return strings.Contains(run.log(), refused) })
	_ = other.Body.Close()
	s.traced(false)
	s.traced(true) // by the sidecar
	s.traced(false)
	run.untilPage(whole)
	got := s.ended(run)
	if p := got.Pprof; p.Slices == 0 || p.Failed == 0 || p.Why != "" || got.Doors != "both" && got.Doors != "tracer" {
		t.Errorf("%+v, want slices, after one that failed", got)
	}
	if n := strings.Count(run.log(), "already enabled"); n != 1 || strings.Count(run.log(), refused) != 1 {
		t.Errorf("it says %d times that another has the tracer, want once:\n%s", n, run.log())
	}
}

// TestKilledInASlice: what was seen of a service that is killed in a slice is kept, and
// nothing hangs.
func TestKilledInASlice(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	run := s.pull()
	s.traced(true)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // it was killed
	run.await("the service was gone", func() bool { return strings.Contains(run.log(), "no longer watched") })
	got := s.ended(run)
	if got.Pprof.Slices > 0 {
		t.Skip("skipped: the machine was so slow that the slice was over")
	}
	if got.Why != "the process ended" || got.Pprof.Failed == 0 || got.Doors == "both" {
		t.Errorf("%+v, want that the process ended, in a slice that failed", got)
	}
	if n := strings.Count(run.log(), refused); n > 1 {
		t.Errorf("it says %d times that a slice failed, want one line:\n%s", n, run.log())
	}
}

// TestStoppedInASlice: while the sidecar is stopped in a slice the service's requests go on,
// and after it the sidecar does, too.
func TestStoppedInASlice(t *testing.T) {
	t.Parallel()
	const requests = 200 // of a collection each
	s := startService(t, nil)
	run := s.pull()
	s.traced(true)
	if err := run.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range requests {
		a, err := http.Get(s.url + "/orders")
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
	}
	if err := run.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.traced(false)
	run.untilPage(taken)
	got := s.ended(run)
	if gouprobe.Supported() == nil && got.Lost == 0 && got.Collections.Total < requests {
		t.Errorf("%+v, want %d collections, or that records were lost", got, requests)
	}
}
