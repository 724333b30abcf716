package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/jitterprobe"
)

// cpuChecks look at the clock, the hypervisor, and the CPUs of the probe: which it has,
// and what it shares them with.
var cpuChecks = []check{
	{"clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource", read(root.text, clocksource)},
	{"virtualised", "proc/cpuinfo", virtualised},
	{"steal", "proc/stat", (*machine).steal},
	{"cgroup.quota", "proc/self/cgroup", (*machine).quota},
	{"cgroup.throttled", "", (*machine).throttled},
	{"cpuset", "proc/self/status", (*machine).affinity},
	{"cpuset.cgroup", "proc/self/cgroup", (*machine).cpuset},
	{"cpu.siblings", "sys/devices/system/cpu/cpuCPU#/topology/thread_siblings_list", (*machine).siblings},
	{"isolation", isolatedFile, read(root.cpuList, (*machine).isolation)},
}

// clocksource checks which clock the kernel keeps time with. Where that is not the cycle
// counter, the kernel does not trust the counter.
func clocksource(m *machine, source string) Check {
	verdict := fail
	if m.mode == jitterprobe.Periodic {
		verdict = info
	}
	want := "tsc"
	if m.arch == "arm64" {
		want = "arch_sys_counter"
	}
	switch {
	case source == want:
	case source == "kvm-clock", source == "hyperv_clocksource_tsc_page":
		return warn(source, "a paravirtual clock: the cycle counter cannot be trusted here, and the probe falls back to mode periodic; boot with clocksource=tsc if the host's is stable")
	default:
		return verdict(source, "each read of this clock costs microseconds or a trap, and the cycle counter is not trusted: boot with clocksource=tsc tsc=reliable if the hardware allows, else use --mode periodic")
	}
	if m.arch != "amd64" {
		return ok(source)
	}
	flags, err := m.cpuFlags()
	if err != nil {
		return unknown("tsc, but /proc/cpuinfo: " + why(err))
	}
	for _, flag := range []string{"constant_tsc", "nonstop_tsc"} {
		if !slices.Contains(flags, flag) {
			return verdict("tsc without "+flag, "ticks change their length with frequency or sleep: use --mode periodic")
		}
	}
	return ok("tsc, constant_tsc nonstop_tsc")
}

// cpuFlags returns the flags of the first CPU. If one CPU lacks a flag, the kernel clears
// it for all.
func (m *machine) cpuFlags() ([]string, error) {
	text, err := m.text("proc/cpuinfo")
	if err != nil {
		return nil, err
	}
	flags, _ := field(text, "flags") // arm64 has "Features", and none that is looked for
	return strings.Fields(flags), nil
}

// virtualised checks whether there is a hypervisor.
func virtualised(m *machine, _ string) Check {
	flags, err := m.cpuFlags()
	name, file := m.hypervisor(flags)
	switch {
	case name != "":
		return info(name, "gaps above 10 us may be the host's: read host.steal as the hypervisor, not as this kernel").in(file)
	case err != nil:
		return unread(err)
	case len(flags) == 0:
		return unknown("no CPU flags")
	}
	return ok("no hypervisor")
}

// hypervisor names what the machine runs on, and the file that says so. The name is
// empty if nothing says so.
func (m *machine) hypervisor(flags []string) (name, file string) {
	const hypervisor, product = "sys/hypervisor/type", "sys/class/dmi/id/product_name"
	if text, err := m.text(hypervisor); err == nil && text != "" {
		return text, hypervisor
	}
	known := []string{"KVM", "Virtual Machine", "VMware", "VirtualBox", "HVM domU", "Google Compute Engine", "Standard PC", "Bochs"}
	text, err := m.text(product)
	if err == nil && slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(text, k) }) {
		return text, product
	}
	if slices.Contains(flags, "hypervisor") {
		return "hypervisor flag", "proc/cpuinfo"
	}
	return "", ""
}

// steal checks the steal time in /proc/stat, which counts ticks of 10 ms. Hosts need not
// report it.
func (m *machine) steal(string) Check {
	if err := cmp.Or(m.after.cpuErr, m.before.cpuErr); err != nil {
		return unread(err)
	}
	now, all := m.after.cpu.steal, m.after.cpu.all
	taken := now - min(now, m.before.cpu.steal)
	since := fmt.Sprintf("%.2g %% since boot", 100*float64(now)/float64(max(all, 1)))
	if m.trial != nil {
		since += fmt.Sprintf(", %d ticks in the self-test", taken)
	}
	switch {
	case taken > 0:
		return warn(since, "the host is short of CPUs now: measure elsewhere, or with dedicated CPUs")
	case now > 0:
		return info(since, "the host has taken this CPU away before: ask for dedicated CPUs")
	}
	flags, _ := m.cpuFlags() // virtualised says so
	if name, _ := m.hypervisor(flags); name != "" {
		return info("0", "proves nothing: hosts take time in pieces too short to be counted here")
	}
	return ok("0")
}

// cpuTime is what /proc/stat counts of a CPU, in clock ticks.
type cpuTime struct{ all, busy, steal uint64 }

// cpuTimes sums what /proc/stat says of some CPUs, of all for none. All is the sum
// of the first eight numbers, as guest time is contained in user time
// (proc_stat(5)), busy all but idle, iowait and steal.
func (m *machine) cpuTimes(cpus ...int) (sum cpuTime, err error) {
	text, err := m.text("proc/stat")
	if err != nil {
		return cpuTime{}, err
	}
	names := map[string]bool{}
	for _, cpu := range cpus {
		names["cpu"+strconv.Itoa(cpu)] = true
	}
	if len(cpus) == 0 {
		names["cpu"] = true
	}
	found := 0
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 9 || !names[f[0]] {
			continue
		}
		found++
		var n [8]uint64 // user, nice, system, idle, iowait, irq, softirq, steal
		for i, s := range f[1:9] {
			if n[i], err = strconv.ParseUint(s, 10, 48); err != nil {
				return cpuTime{}, fmt.Errorf("holds %.20q, not a number", s)
			}
			sum.all += n[i]
		}
		sum.busy += n[0] + n[1] + n[2] + n[5] + n[6]
		sum.steal += n[7]
	}
	if found != len(names) {
		return cpuTime{}, fmt.Errorf("no line of eight numbers for each of %d CPUs", len(names))
	}
	return sum, nil
}

const noCPUController = "no cgroup with the cpu controller to be seen"

// quota checks the limits on CPU time of this process's cgroups. A spinner uses up one CPU
// of a quota, and the kernel then throttles the service that shares the quota.
func (m *machine) quota(string) Check {
	groups, err := cgroup.Of(m.root, "self")
	if err != nil {
		return unread(err)
	}
	if len(groups) == 0 {
		return unknown(noCPUController)
	}
	q, err := cgroup.Tightest(m.root, groups)
	switch {
	case err != nil:
		verdict := fail
		if !m.spins() {
			verdict = warn
		}
		return verdict(err.Error(), "the quota is not known, and a probe must not spin under one: use --mode periodic")
	case q.File == "":
		return ok("none")
	case m.spins():
		return fail(fmt.Sprintf("%.3g CPUs", q.CPUs),
			"a spinner uses up one CPU of the quota and gets every service under it throttled: use --mode periodic, or run the probe in a cgroup without quota").in(q.File)
	}
	return info(fmt.Sprintf("%.3g CPUs", q.CPUs), "the probe itself may be throttled: its gaps of that kind are host.throttled").in(q.File)
}

// throttled checks how often the cgroups ran out of their quota.
func (m *machine) throttled(string) (c Check) {
	defer func() {
		if len(m.groups) > 0 {
			c.File = m.groups[0].Dir + "/cpu.stat"
		}
	}()
	if len(m.after.throttle) == 0 || len(m.before.throttle) != len(m.after.throttle) {
		return unknown("no cpu.stat with nr_throttled")
	}
	var ever, now uint64
	var lasted time.Duration
	for i, t := range m.after.throttle {
		before := m.before.throttle[i]
		ever += t.Count
		now += t.Count - min(t.Count, before.Count)
		lasted += t.Time - min(t.Time, before.Time)
	}
	switch {
	case now > 0:
		return warn(fmt.Sprintf("%d times in the self-test, %v", now, lasted.Round(time.Millisecond)),
			"the quota is used up now: gaps of tens of milliseconds follow; raise it or do less")
	case ever > 0:
		return info(plural(int(min(ever, 1<<31)), "time")+" so far", "the quota was used up before: expect host.throttled")
	}
	return ok("never")
}

// affinity checks which CPUs this process may use.
func (m *machine) affinity(string) Check {
	list, _ := field(m.status, "Cpus_allowed_list")
	value := fmt.Sprintf("%s, probe on %d", list, m.cpu)
	switch {
	case len(m.allowed) == 0:
		return unknown("no Cpus_allowed_list")
	case !m.on(m.allowed):
		return fail(fmt.Sprintf("%s, without CPU %d", list, m.cpu), "the probe may not run there: choose another --cpu, or give it that CPU (taskset, cpuset.cpus)")
	case len(m.allowed) > 1:
		return ok(value)
	case m.spins():
		return fail(value, "a spinner on the only CPU takes it from the service: use --mode periodic, or give a second CPU")
	}
	return info(value, "one CPU: no other mode than periodic")
}

// cpuset checks which CPUs the cgroup leaves to this process: taskset cannot add others.
func (m *machine) cpuset(string) Check {
	list, file, err := cgroup.CPUs(m.root, "self")
	if err != nil {
		return unread(err)
	}
	if file == "" {
		return unknown("no cgroup with the cpuset controller to be seen")
	}
	cpus, err := proc.ParseCPUs(list)
	switch {
	case err != nil:
		return unread(err).in(file)
	case len(cpus) > 0 && !m.on(cpus):
		return fail(fmt.Sprintf("%s, without CPU %d", list, m.cpu), "taskset cannot give the probe that CPU: choose another --cpu, or widen cpuset.cpus of the cgroup").in(file)
	}
	return ok(list).in(file)
}

// busySibling is the share of its time from which on a sibling counts as busy. One tick
// in 2 s is less.
const busySibling = 0.02

// siblings checks which CPUs share the core: two hyperthreads slow each other.
func (m *machine) siblings(string) Check {
	cpus, err := m.siblingCPUs()
	if err != nil {
		return unread(err)
	}
	smt, err := m.text("sys/devices/system/cpu/smt/active")
	switch {
	case len(cpus) == 0 && err == nil && smt == "0":
		return ok("none, SMT is off")
	case len(cpus) == 0:
		return ok("none")
	}
	names := strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","), "[]")
	value := fmt.Sprintf("CPU %d shares its core with %s", m.cpu, names)
	if m.spins() && m.targetMayUse(cpus) {
		return warn(value+", which the target may use", "a spinner slows what runs on its sibling: choose another --cpu, or taskset the target to other cores")
	}
	switch busy, why := m.siblingBusy(cpus); {
	case why == "":
		return warn(value, "a busy sibling slows the probe, and a spinner the sibling: keep the service off both")
	case busy:
		return warn(value+", "+why, "a busy sibling slows the probe, and a spinner the sibling: choose another --cpu, or keep work off both")
	default:
		return info(value+", "+why, "good as long as it stays so: keep the service off it, or switch SMT off")
	}
}

// siblingCPUs returns the other CPUs of the probe's core.
func (m *machine) siblingCPUs() ([]int, error) {
	cpus, err := m.cpuList("sys/devices/system/cpu/cpu" + strconv.Itoa(m.cpu) + "/topology/thread_siblings_list")
	return slices.DeleteFunc(cpus, func(cpu int) bool { return cpu == m.cpu }), err
}

// siblingBusy reports whether the siblings are in use, and names the evidence: their busy
// time in the self-test, else the threads that are runnable there now. Without evidence,
// why is empty.
func (m *machine) siblingBusy(cpus []int) (busy bool, why string) {
	if before, after := m.before.core, m.after.core; m.trial != nil && before.all > 0 && after.all > before.all {
		share := float64(after.busy-min(before.busy, after.busy)) / float64(after.all-before.all)
		return share >= busySibling, fmt.Sprintf("busy %.0f %% of the self-test", 100*share)
	}
	if len(m.threads) == 0 {
		return false, ""
	}
	names := m.runnable(cpus)
	if len(names) == 0 {
		return false, "idle now"
	}
	return true, "where " + few(names) + " runs"
}

// targetMayUse reports whether the target may use one of the CPUs.
func (m *machine) targetMayUse(cpus []int) bool {
	if m.target == 0 {
		return false
	}
	allowed, err := m.targetCPUs()
	return err == nil && slices.ContainsFunc(cpus, func(cpu int) bool { return slices.Contains(allowed, cpu) })
}

// Files that list the CPUs on which the kernel schedules no thread by itself: those of
// isolcpus=, and those of isolated partitions of cgroup v2.
const (
	isolatedFile   = "sys/devices/system/cpu/isolated"
	partitionsFile = "sys/fs/cgroup/cpuset.cpus.isolated"
)

// isolated reports whether the scheduler keeps others off the probe's CPU.
func (m *machine) isolated() bool {
	cpus, _ := m.cpuList(isolatedFile)         // isolation says so
	partitions, _ := m.cpuList(partitionsFile) // there is none before cgroup v2 of Linux 6.7
	return m.on(cpus) || m.on(partitions)
}

// isolation checks whether the kernel keeps its own work off the CPU.
func (m *machine) isolation([]int) Check {
	full, _ := m.cpuList("sys/devices/system/cpu/nohz_full") // the kernel may be built without it
	callbacks, _ := m.bootCPUs("rcu_nocbs=")
	irqs, _ := m.bootCPUs("irqaffinity=")
	var have, lack []string
	for _, kept := range []struct {
		by string
		is bool
	}{
		{"isolcpus", m.isolated()},
		{"nohz_full", m.on(full)},
		{"rcu_nocbs", m.on(callbacks)},
		{"irqaffinity", len(irqs) > 0 && !m.on(irqs)},
	} {
		if kept.is {
			have = append(have, kept.by)
		} else {
			lack = append(lack, kept.by)
		}
	}
	switch {
	case len(lack) == 0:
		return ok(few(have))
	case len(have) == 0:
		return info("none", "expect a tick of some 10 us in every 1/HZ, and kernel threads: isolcpus=, nohz_full=, rcu_nocbs= and irqaffinity= keep them off")
	}
	return info(few(have)+", not "+few(lack), "the rest of the kernel's work still comes to this CPU")
}

// bootCPUs returns the list of CPUs of a boot parameter, empty if it is not given.
func (m *machine) bootCPUs(name string) ([]int, error) {
	text, err := m.text("proc/cmdline")
	if err != nil {
		return nil, err
	}
	for _, word := range strings.Fields(text) {
		if list, is := strings.CutPrefix(word, name); is {
			return proc.ParseCPUs(list)
		}
	}
	return nil, nil
}
