package doctor

import (
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/cgroup"
)

// TestRealtimeOfTheCgroup: a v1 cgroup may give its real-time threads another part
// of a period than the machine does.
func TestRealtimeOfTheCgroup(t *testing.T) {
	const group, top = "sys/fs/cgroup/cpu/a", "sys/fs/cgroup/cpu"
	v1 := []cgroup.Group{{Dir: group}, {Dir: top}}
	limits := func(of ...string) []string {
		return append(of, "proc/sys/kernel/sched_rt_runtime_us", "950000\n", "proc/sys/kernel/sched_rt_period_us", "1000000\n")
	}
	both := func(own, above string) []string {
		return limits(group+"/cpu.rt_runtime_us", own, group+"/cpu.rt_period_us", "1000000\n", top+"/cpu.rt_runtime_us", above, top+"/cpu.rt_period_us", "1000000\n")
	}
	for _, test := range []struct {
		name     string
		groups   []cgroup.Group
		files    []string
		realtime bool
		want     verdict
	}{
		{"no cgroup", nil, limits(), false, verdict{NA, "no cgroup", ""}},
		{"v2", []cgroup.Group{{Dir: top, V2: true}}, limits(), false, verdict{OK, "cgroup v2", ""}},
		{"a kernel without", v1, limits(), false, verdict{NA, "no such file", ""}},
		{"as the machine", v1, both("950000\n", "950000\n"), true, verdict{OK, "as the machine's limit", ""}},
		{"none", v1, both("0\n", "950000\n"), false, verdict{Info, "none", "no thread of this cgroup may have real-time priority"}},
		{"another", v1, both("400000\n", "950000\n"), false, verdict{Info, "400000 of 1000000 us, where the machine's limit is 950000 of 1000000 us", ""}},
		{"another, and it matters", v1, both("400000\n", "950000\n"), true, verdict{Warn, "400000 of 1000000 us", "by this one are not recognised"}},
		{"above", v1, both("950000\n", "500000\n"), true, verdict{Warn, "500000 of 1000000 us", "by this one are not recognised"}},
		{"nonsense", v1, both("much\n", "950000\n"), true, verdict{NA, "not a number", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			policy := "0"
			if test.realtime {
				policy = "1"
			}
			files := append(test.files, "proc/self/stat", "1 (a) S"+strings.Repeat(" 0", 37)+" "+policy+"\n")
			m := &machine{root: root{filesOf(files...)}, groups: test.groups}
			test.want.check(t, checkOf(t, m, "rt.cgroup"))
		})
	}
}
