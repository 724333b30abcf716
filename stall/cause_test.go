package stall

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCauseNamesRoundTrip(t *testing.T) {
	for c := GCPause; c < NumCauses; c++ {
		got, err := ParseCause(c.String())
		if err != nil || got != c {
			t.Errorf("ParseCause(%q): got %v, %v, want %v", c.String(), got, err, c)
		}
	}
	for _, s := range []string{"", "none", "gc", "GC.Pause", "gc.pause ", "cause(3)"} {
		if got, err := ParseCause(s); err == nil || got != NoCause {
			t.Errorf("ParseCause(%q): got %v, %v, want an error and no cause", s, got, err)
		}
	}
}

// TestNamesAreComplete fails when a constant is added without its name.
func TestNamesAreComplete(t *testing.T) {
	good := regexp.MustCompile(`^[a-z]+([._][a-z]+)*$`)
	seen := map[string]bool{}
	check := func(list, name string) {
		if !good.MatchString(name) || seen[list+name] {
			t.Errorf("name of a %s: got %q, want one of its own in lower case", list, name)
		}
		seen[list+name] = true
	}
	for c := range NumCauses {
		check("cause", c.String())
	}
	for s := range NumOrigins {
		check("source", s.String())
	}
	for s := range NumScopes {
		check("scope", s.String())
	}
	for _, f := range []Fidelity{Cycle, Exact} {
		check("fidelity", f.String())
	}
}

func TestNamesOfWhatDoesNotExist(t *testing.T) {
	got := []string{NumCauses.String(), NumOrigins.String(), NumScopes.String(), Cause(255).String()}
	want := []string{"cause(18)", "source(9)", "scope(5)", "cause(255)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestKindsOfCause(t *testing.T) {
	got := map[string][]string{}
	for c := range NumCauses {
		for name, is := range map[string]bool{"gc": c.IsGC(), "host": c.IsHost(), "stop": c.IsStop()} {
			if is {
				got[name] = append(got[name], c.String())
			}
		}
	}
	want := map[string][]string{
		"gc":   {"gc.pause", "gc.assist", "gc.sweep", "gc.wait"},
		"host": {"host.throttled", "host.preempted", "host.irq", "host.steal", "host.irq_or_steal", "host.fault", "host.suspended", "host.unknown"},
		"stop": {"gc.pause", "runtime.suspension", "runtime.unknown"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// TestAnswers: docs/answer.md says of each owner of time what to do, in a row of its table.
func TestAnswers(t *testing.T) {
	page, err := os.ReadFile("../docs/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| most of it is |")
	table, _, _ = strings.Cut(table, "\n\n")
	owners := []string{"app", "app_or_host", "uncertain", "unseen"}
	for c := GCPause; c < NumCauses; c++ {
		owners = append(owners, c.String())
	}
	for _, owner := range owners {
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + regexp.QuoteMeta(owner) + "`").MatchString(table) {
			t.Errorf("no row says what to do about %s", owner)
		}
	}
}
