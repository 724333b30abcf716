package probe

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/bench/harness"
)

// TestOslat: both programs ran, and there is a line of each bound.
func TestOslat(t *testing.T) {
	if len(harness.CPUs(0)) < 2 {
		t.Skip("skipped: one CPU: a spinner needs one of its own")
	}
	if _, err := exec.LookPath("oslat"); err != nil {
		t.Skip("skipped: oslat (Debian: rt-tests) is not installed")
	}
	if os.Geteuid() != 0 {
		t.Skip("skipped: oslat wants root")
	}
	var out, log bytes.Buffer
	err := Oslat().Run(t.Context(), []string{"-rounds", "1", "-span", "1s"}, &out, &log)
	if err != nil && strings.Contains(err.Error(), "does not spin") {
		t.Skip(err) // such as under a quota
	}
	if err != nil {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	for _, want := range []string{`oslat of rt-tests \d`, `\| 2 us \| [\d.]+ \(.*\| within 20 % \|`, `\| 10 us \|`, `\| 50 us \|`, `A look of the probe takes [\d.]+ ns`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// TestParse: labels are one off where the smallest is not the minimum, and a gap
// of exactly the bound was rounded up to it.
func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text, fail string
		want       rates
	}{
		"a label is the figure": {
			text: `{"rt_test_version:": "2.40", "thread": {"0": {"min": 1, "duration": 2, "histogram": {"1": 900, "2": 10, "3": 4, "11": 2, "51": 1}}}}`,
			want: rates{3.5, 1.5, 0.5},
		},
		"a label is one more": {
			text: `{"rt_test_version": "2.40", "thread": {"0": {"min": 1, "duration": 2, "histogram": {"2": 900, "3": 10, "4": 4, "12": 2, "52": 1}}}}`,
			want: rates{3.5, 1.5, 0.5},
		},
		"no thread":    {text: `{"thread": {}}`, fail: "no gaps of thread 0"},
		"no duration":  {text: `{"thread": {"0": {"histogram": {"1": 1}}}}`, fail: "no gaps of thread 0"},
		"not a number": {text: `{"thread": {"0": {"duration": 1, "histogram": {"x": 1}}}}`, fail: `label "x" is no number of us`},
		"cut off":      {text: `{"thread": {`, fail: "unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := parse([]byte(test.text))
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) {
					t.Errorf("parse: %v, want %q", err, test.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got, cmpopts.EquateApprox(0, 1e-9)); d != "" {
				t.Errorf("gaps per second (-want +got):\n%s", d)
			}
		})
	}
}

// TestJudge: short gaps by their ratio, the longest by how far oslat is from
// itself.
func TestJudge(t *testing.T) {
	for _, test := range []struct {
		bound        int
		theirs, ours []float64
		met          bool
	}{
		{0, []float64{100, 110, 120}, []float64{130, 131, 132}, true},
		{1, []float64{100, 110, 120}, []float64{133, 134, 135}, false},
		{2, []float64{1, 10, 12}, []float64{20, 21, 22}, true},
		{2, []float64{9, 10, 11}, []float64{13, 13, 13}, false},
	} {
		if v := compareMedians(test.bound, test.theirs, test.ours); v.met != test.met {
			t.Errorf("%v: oslat %v, probe %v: met is %v (%+v), want %v", bounds[test.bound], test.theirs, test.ours, v.met, v, test.met)
		}
	}
}

func TestWrite(t *testing.T) {
	s := harness.NewPage("x", "x", io.Discard)
	(&oslat{rounds: 1, cpu: 1}).write(s, &comparison{version: "2.4", oslat: []rates{{}}, probe: []rates{{1}}, loop: []float64{13}, balance: []float64{1}})
	for _, want := range []string{"| n/a | within 20 % | not met |", "at most 12; not met"} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("no %q in:\n%s", want, s)
		}
	}
}
