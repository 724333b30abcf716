package hostile

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/semconv"
)

const (
	// endsIn is how long the sidecar may take to end: thrice what it promises, five
	// seconds, for a machine that has more to do than CPUs.
	endsIn = 15 * time.Second
	// maxLines bounds the warnings about one liar: one for each thing that it does.
	maxLines = 3
	// maxResource bounds the attributes of a resource: what a process may say of
	// itself, and what is found of it.
	maxResource = 64 + 16
)

// TestLiars runs the sidecar among liars and beside an honest process. A subtest
// named by the lie says what is wrong about that liar.
func TestLiars(t *testing.T) {
	if missing != "" {
		t.Skip("skipped: " + missing)
	}
	for number, run := range chosen() {
		t.Run(strings.NewReplacer(",", "", " ", "_").Replace(run.name), func(t *testing.T) {
			base := filepath.Join(work, fmt.Sprint(number))
			if err := os.Mkdir(base, 0o755); err != nil {
				t.Fatal(err)
			}
			var tellers []teller
			start := func(honest int) {
				for i, name := range run.lies {
					at := slices.IndexFunc(lies, func(l lie) bool { return l.name == name })
					tellers = append(tellers, startLie(t, base, i, &lies[at], honest))
				}
			}
			var args, env []string
			if run.recorded {
				args = append(args, "--record="+filepath.Join(disk, fmt.Sprint(number, ".rec")))
			}
			if run.port {
				port := filepath.Join(base, portName)
				args = append(args, "--listen-diagnostics="+port)
				env = append(env, "DOTNET_DiagnosticPorts="+port+",nosuspend")
			}
			var h *honest
			var r *running
			if run.first {
				start(0)
				r = startSidecar(t, fmt.Sprint(number), args...)
				r.wait(func() bool { return len(r.stderr.with("watching a .NET process")) > 0 })
				time.Sleep(3 * time.Second) // a few looks: as many are watched as are to be
				h = startHonest(t, env...)
			} else {
				r = startSidecar(t, fmt.Sprint(number), args...)
				r.wait(func() bool { return len(r.stderr.with("msg=probing")) > 0 })
				h = startHonest(t, env...)
			}
			if !r.wait(func() bool { return len(r.stderr.with("watching a .NET process", about(h.PID()))) > 0 }) {
				t.Errorf("the honest process is not watched")
			}
			if !run.first {
				start(h.PID())
			}
			h.work(r, func() bool { return slices.ContainsFunc(tellers, func(x teller) bool { return !x.found(r) }) })
			judge(t, r, h, tellers)
		})
	}
}

// chosen returns the runs, and with -alone one for each lie.
func chosen() (all []run) {
	if !*alone {
		return runs
	}
	for _, r := range runs {
		for _, name := range r.lies {
			one := r
			one.name, one.lies = name, []string{name}
			if r.recorded {
				one.name += " recorded"
			}
			all = append(all, one)
		}
	}
	return all
}

// mostLines is maxLines, or where the machine is slow how often a sidecar tries a process that
// it can make nothing of, and says so: ever later, after 1, 2, 4 seconds and so on.
func mostLines(r *running) int {
	return max(maxLines, bits.Len(uint(time.Since(r.begun).Seconds())+1))
}

// warnings returns the lines of the log that say what is wrong about a process.
func warnings(r *running, pid int) []string {
	said := r.stderr.with("level=WARN", about(pid))
	for _, line := range r.stderr.with("level=INFO", about(pid), " why=") {
		if !strings.Contains(line, "no longer watched") {
			said = append(said, line)
		}
	}
	return said
}

// found reports whether the sidecar has found out about all processes of x: it names
// them, or may watch them. One that it detached it has tried again.
func (x teller) found(r *running) bool {
	return x.dials || !slices.ContainsFunc(x.pids, func(pid int) bool {
		sessions := len(r.stderr.with("watching a .NET process", about(pid)))
		if x.again && sessions < 2 {
			return true
		}
		watched := x.silent && sessions > 0
		return !watched && len(warnings(r, pid)) == 0 && (!x.inNet || len(r.stderr.with("level=WARN", "net/unix")) == 0)
	})
}

// judge ends the sidecar and says what it did wrong.
func judge(t *testing.T, r *running, h *honest, tellers []teller) {
	t.Helper()
	want := h.collections()
	r.wait(func() bool {
		got := h.exported(r.receiver)
		return !slices.ContainsFunc(want, func(n int64) bool { return got[n] == 0 })
	})
	early := r.ended()
	took := r.end()
	peak, killed := r.group.peak(), r.group.killed()
	cpu := r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime()
	t.Logf("the sidecar took %v to end, %v of CPU in %v, at most %d MiB of memory; the honest process made %d collections",
		took.Round(time.Millisecond), cpu.Round(time.Millisecond), time.Since(r.begun).Round(time.Second), peak>>20, len(want))
	switch {
	case killed > 0:
		t.Errorf("the kernel killed the sidecar: it took more than its %d MiB", readManifest(t).memory>>20)
	case early:
		t.Errorf("the sidecar ended by itself: %v", r.err)
	case r.err != nil:
		t.Errorf("the sidecar did not end in good order: %v", r.err)
	case took > endsIn:
		t.Errorf("the sidecar took %v to end, want at most %v", took, endsIn)
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("its log:\n%s", shorten(r.stderr.String()))
	}
	if killed > 0 || r.err != nil {
		return
	}
	summaries := r.summaries()
	t.Run("honest", func(t *testing.T) { judgeHonest(t, r, h, want, summaries[h.PID()]) })
	for _, x := range tellers {
		t.Run(x.name, func(t *testing.T) {
			if !x.found(r) {
				t.Error("a process of it is neither watched nor named, or was not tried again")
			}
			for _, pid := range x.pids {
				judgeLiar(t, r, x, pid, summaries[pid])
			}
			if check := checks[x.name]; check != nil {
				check(t, r, x)
			}
		})
	}
}

// judgeHonest: nothing of the honest process is lost, told twice, or not seen.
func judgeHonest(t *testing.T, r *running, h *honest, want []int64, s []summary) {
	got := h.exported(r.receiver)
	var lost []int64
	for _, n := range want {
		if got[n] != 1 {
			lost = append(lost, n)
		}
	}
	if len(lost) > 0 {
		t.Errorf("%d of its %d collections were not exported, or more than once: %v", len(lost), len(want), lost)
	}
	if len(want) < 20 {
		t.Errorf("it made %d collections, want more", len(want))
	}
	if len(s) != 1 || s[0].Sessions != 1 || s[0].Lost != 0 || s[0].Collections.Total != s[0].LastIndex-s[0].FirstIndex+1 ||
		s[0].Collections.Total < uint64(len(want)) || s[0].Unexported != nil {
		t.Errorf("its summary: %+v, want one session, all of %d collections, nothing lost", s, len(want))
	}
	for _, l := range r.receiver.Logs() {
		if pidOf(l.Resource) != h.PID() {
			continue
		}
		if lacks := otlptest.Attribute(l.GetAttributes(), semconv.AttrGCIncomplete); lacks != nil && integer(l, semconv.AttrStart) >= int64(h.watched) {
			t.Errorf("collection %d is incomplete: %v", integer(l, semconv.AttrGCIndex), lacks)
		}
		starts, ends := integers(l, semconv.AttrUnseenStart), integers(l, semconv.AttrUnseenEnd)
		for i := range min(len(starts), len(ends)) {
			if from, to := max(starts[i], int64(h.watched)), min(ends[i], int64(h.until)); from < to {
				t.Errorf("%v of its work were not seen, from %d", time.Duration(to-from), from)
			}
		}
	}
	if said := warnings(r, h.PID()); len(said) > 0 {
		t.Errorf("warnings about it:\n%s", strings.Join(said, "\n"))
	}
}

// judgeLiar: a liar is named, in few lines, and counted; what it says harms nobody.
func judgeLiar(t *testing.T, r *running, x teller, pid int, s []summary) {
	t.Helper()
	said := warnings(r, pid)
	if len(said) > mostLines(r) {
		t.Errorf("%d warnings about process %d, want at most %d:\n%s", len(said), pid, mostLines(r), shorten(strings.Join(said, "\n")))
	}
	if x.silent || x.dials {
		return
	}
	fine := func(s summary) bool {
		return s.Sessions == 1 && s.Lost == 0 && s.Incomplete == 0 && s.Unseen == 0 && s.Why == "asked to end"
	}
	if len(s) == 0 || slices.ContainsFunc(s, fine) {
		t.Errorf("the summary of process %d counts no loss, no detachment: %+v", pid, s)
	}
}

// checks are what a lie must not have led to, beyond what holds for all.
var checks = map[string]func(*testing.T, *running, teller){
	"claims_to_be_another": func(t *testing.T, r *running, x teller) {
		seen := of(r, "impostor")
		if len(seen) == 0 {
			t.Fatal("nothing of it was exported")
		}
		for _, l := range seen {
			for key, want := range map[string]string{
				semconv.AttrProcessPID: fmt.Sprintf("int_value:%d", x.pids[0]), "container.id": realContainer,
			} {
				if got := strings.Trim(l.Resource[key], `"`); got != want {
					t.Fatalf("%s: %s, want %s", key, got, want)
				}
			}
			if got := l.Resource[semconv.AttrBootID]; got == claimedBoot {
				t.Fatalf("%s: %s, which is what it claims", semconv.AttrBootID, got)
			}
			if got := l.Resource[semconv.AttrProcessCreation]; strings.HasPrefix(got, "2001") {
				t.Fatalf("%s: %s, which is what it claims", semconv.AttrProcessCreation, got)
			}
			if got := otlptest.Attribute(l.GetAttributes(), semconv.AttrProcessPID).GetIntValue(); got != int64(x.pids[0]) {
				t.Fatalf("%s of an event: %d, want %d", semconv.AttrProcessPID, got, x.pids[0])
			}
		}
	},
	"ten_thousand_attributes": func(t *testing.T, r *running, _ teller) {
		seen := of(r, "many")
		if len(seen) == 0 {
			t.Fatal("nothing of it was exported")
		}
		if got := len(seen[0].Resource); got > maxResource {
			t.Errorf("its resource has %d attributes, want at most %d", got, maxResource)
		}
	},
	"events_from_the_future": func(t *testing.T, r *running, _ teller) { checkTimes(t, r, "future") },
	"events_from_the_past":   func(t *testing.T, r *running, _ teller) { checkTimes(t, r, "past") },
	"table_of_sockets": func(t *testing.T, r *running, _ teller) {
		if said := r.stderr.with("level=WARN", "net/unix"); len(said) > maxLines {
			t.Errorf("%d warnings about tables of sockets, want at most %d", len(said), maxLines)
		}
	},
	"made_up_callers": func(t *testing.T, r *running, _ teller) {
		if len(r.stderr.with("level=WARN", "reverse port")) == 0 {
			t.Error("no warning says that the reverse port turned anybody away")
		}
	},
}

// of returns what was received of a service.
func of(r *running, service string) (all []otlptest.Log) {
	for _, l := range r.receiver.Logs() {
		if l.Resource["service.name"] == service {
			all = append(all, l)
		}
	}
	return all
}

// checkTimes: nothing that is exported of a process is later than now, and no
// status vouches for what is.
func checkTimes(t *testing.T, r *running, service string) {
	t.Helper()
	seen := of(r, service)
	if len(seen) == 0 {
		t.Fatal("nothing of it was exported")
	}
	latest := int64(now())
	for _, l := range seen {
		for _, key := range []string{semconv.AttrWatermark, semconv.AttrEnd} {
			if got := integer(l, key); got > latest {
				t.Fatalf("%s of %s is %v in the future", key, l.GetEventName(), time.Duration(got-latest))
			}
		}
	}
}

func integer(l otlptest.Log, key string) int64 {
	return otlptest.Attribute(l.GetAttributes(), key).GetIntValue()
}

func integers(l otlptest.Log, key string) (all []int64) {
	for _, v := range otlptest.Attribute(l.GetAttributes(), key).GetArrayValue().GetValues() {
		all = append(all, v.GetIntValue())
	}
	return all
}

// pidOf returns the process of a resource, 0 for none.
func pidOf(resource map[string]string) (pid int) {
	_, _ = fmt.Sscanf(resource[semconv.AttrProcessPID], "int_value:%d", &pid)
	return pid
}

// shorten cuts the middle of a log.
func shorten(text string) string {
	const keep = 12_000
	if len(text) <= 2*keep {
		return text
	}
	return text[:keep] + "\n[...]\n" + text[len(text)-keep:]
}
