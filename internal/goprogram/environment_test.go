package goprogram

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("x", 3*maxEntry)
	for _, test := range []struct {
		name, text string
		want       map[string]string
		fails      bool
	}{
		{name: "none", want: map[string]string{}},
		{name: "others only", text: "SECRET=1\x00PATH=/bin\x00", want: map[string]string{}},
		{name: "some", text: "A=1\x00GOGC=50\x00XGOGC=9\x00GOGCX=9\x00GODEBUG=a=1,b=2\x00", want: map[string]string{"GOGC": "50", "GODEBUG": "a=1,b=2"}},
		{name: "an empty one", text: "GOGC=\x00", want: map[string]string{"GOGC": ""}},
		{name: "the first of two", text: "GOGC=50\x00GOGC=70\x00", want: map[string]string{"GOGC": "50"}},
		{name: "no value", text: "GOGC\x00GOMAXPROCS=3", want: map[string]string{"GOMAXPROCS": "3"}},
		{name: "behind a long one", text: "A=" + long + "\x00GOGC=50\x00", want: map[string]string{"GOGC": "50"}},
		{name: "a long one", text: "GODEBUG=" + long + "\x00GOGC=50\x00", want: map[string]string{"GODEBUG": long[:MaxValue+1], "GOGC": "50"}},
		{name: "within a long one", text: "A=" + strings.Repeat("x", maxEntry-2) + "GOGC=50\x00", want: map[string]string{}},
		{name: "without end", text: "GOGC=50\x00" + strings.Repeat("x", maxEnvironment), fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseEnvironment(strings.NewReader(test.text))
			if (err != nil) != test.fails {
				t.Fatalf("got error %v, want one: %v", err, test.fails)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStarting: nothing to read is no empty environment while the program is being
// executed.
func TestStarting(t *testing.T) {
	root := fstest.MapFS{"proc/7/environ": {}, "proc/7/cmdline": {}}
	if env, err := environment(root, "proc/7"); !errors.Is(err, ErrStarting) {
		t.Errorf("a program that is being executed: got %v, %v, want %v", env, err, ErrStarting)
	}
	root["proc/7/cmdline"].Data = []byte("shop\x00")
	if env, err := environment(root, "proc/7"); err != nil || env == nil || len(env) != 0 {
		t.Errorf("a program without one: got %v, %v, want none", env, err)
	}
}
