package gouprobe

import (
	"strings"
	"testing"

	"github.com/otelgc/otelgc/stall/gc"
)

func TestFindRelease(t *testing.T) {
	for v, want := range map[string]release{
		"go1.22":          {},
		"go1.22.12":       {},
		"go1.23.1":        {stopping: true},
		"go1.24rc1":       {stopping: true},
		"go1.24.4-vendor": {stopping: true},
		"go1.25.9 X:y":    {stopping: true},
		"go1.26.8":        {stopping: true, module: true},
	} {
		if got, err := findRelease(v); got != want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", v, got, err, want)
		}
	}
	for _, v := range []string{
		"", "go1", "go1.21.13", "go1.27", "go1.27rc1", "go1.220.1", "go2.22", "devel go1.27-5401ec7 Sun Nov", "go1.22\n", strings.Repeat("go1.22.", 1000),
	} {
		got, err := findRelease(v)
		if err == nil {
			t.Errorf("%q: got %+v, want an error", v, got)
		} else if s := err.Error(); strings.Contains(s, "\n") || len(s) > 200 {
			t.Errorf("%q: got %q, want one line", v, s)
		}
	}
}

func TestKind(t *testing.T) {
	for godebug, want := range map[string]gc.Kind{
		"": gc.Background, "gcstoptheworld=1": gc.FullBlocking, "a=1,gcstoptheworld=2": gc.FullBlocking,
		"gcstoptheworld=1,gcstoptheworld=0": gc.Background, "xgcstoptheworld=1": gc.Background,
	} {
		if got := kindOf(godebug); got != want {
			t.Errorf("GODEBUG=%s: got %v, want %v", godebug, got, want)
		}
	}
}
