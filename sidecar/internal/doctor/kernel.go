package doctor

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/proc"
)

// kernelChecks look at how the kernel ticks, interrupts and schedules.
var kernelChecks = []check{
	{"kernel.hz", "", kernelHz},
	{"kernel.preempt", "", preemption},
	{"irq.affinity", "proc/irq", read(root.list, (*machine).interrupts)},
	{"irq.default", "proc/irq/default_smp_affinity", read(root.text, interruptsByDefault)},
	{"irqbalance", "proc", irqBalance},
	{"rt.policy", "proc/self/stat", (*machine).policy},
	{"rt.priority", "proc/self/limits", read(root.text, rtPriority)},
	{"rt.limit", "proc/sys/kernel/sched_rt_runtime_us", read(root.number, rtLimit)},
	{"rt.cgroup", "proc/self/cgroup", (*machine).rtGroup},
	{"rt.fairserver", "sys/kernel/debug/sched/fair_server/cpuCPU#/runtime", read(root.number, fairServer)},
}

// housekeepingChecks look at what the kernel and the firmware do of their own accord.
var housekeepingChecks = []check{
	{"vmstat", "proc/sys/vm/stat_interval", read(root.number, func(_ *machine, n int64) Check {
		if n <= 1 {
			return info(fmt.Sprintf("every %d s", n), "a kworker runs on every busy CPU each second: vm.stat_interval=120 while measuring")
		}
		return ok(fmt.Sprintf("every %d s", n))
	})},
	{"writeback", "proc/sys/vm/dirty_writeback_centisecs", read(root.number, func(_ *machine, n int64) Check {
		return info(fmt.Sprintf("every %.3g s", float64(n)/100), "")
	})},
	{"watchdog", "proc/sys/kernel/watchdog", read(root.number, watchdog)},
	{"workqueue", "sys/devices/virtual/workqueue/cpumask", read(root.cpuMask, func(m *machine, cpus []int) Check {
		if !m.on(cpus) {
			return ok(fmt.Sprintf("unbound work stays off CPU %d", m.cpu))
		}
		return info(fmt.Sprintf("may run on CPU %d", m.cpu), "unbound kworkers preempt the probe: take the CPU out of the mask")
	})},
	{"mce", "sys/devices/system/machinecheck/machinecheckCPU#/check_interval", read(root.text, func(_ *machine, text string) Check {
		n, err := strconv.ParseInt(text, 16, 32) // in hexadecimal (Documentation/arch/x86/x86_64/machinecheck.rst)
		switch {
		case err != nil:
			return unknown(fmt.Sprintf("holds %.20q, not a number", text))
		case n == 0:
			return ok("no polling")
		}
		return info(fmt.Sprintf("polled every %d s", n), "")
	})},
	{"smi", "dev/cpu/CPU#/msr", (*machine).smi},
	{"mitigations", "sys/devices/system/cpu/vulnerabilities", read(root.list, mitigations)},
}

// maxConfig bounds the unpacked configuration of the kernel; today's are 0.3 MB.
const maxConfig = 4 << 20

// kernelConfig is the configuration that the kernel was built with.
type kernelConfig struct {
	text, file string
	err        error
}

func (m *machine) readKernelConfig() (c kernelConfig) {
	c.file = "proc/config.gz"
	data, err := proc.Read(m, c.file)
	if err == nil {
		c.text, c.err = gunzip(data)
		return c
	}
	release, _ := m.text("proc/sys/kernel/osrelease")
	if release != "" && !strings.ContainsAny(release, "/\x00") {
		file := "boot/config-" + release
		if data, e := proc.Read(m, file); e == nil {
			return kernelConfig{string(data), file, nil}
		}
	}
	c.err = err
	return c
}

func gunzip(data []byte) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(z, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = errors.New("longer than 4 MiB unpacked")
	}
	return string(text), err
}

// setting returns the value of one setting, empty if there is none.
func (c *kernelConfig) setting(name string) string {
	for line := range strings.Lines(c.text) {
		if value, is := strings.CutPrefix(line, name+"="); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// kernelHz reports how often the kernel ticks: the gaps of the tick lie on that grid.
func kernelHz(m *machine, _ string) Check {
	c := &m.config
	if c.err != nil {
		return unread(c.err).in(c.file)
	}
	n, err := strconv.Atoi(c.setting("CONFIG_HZ"))
	if err != nil || n <= 0 {
		return unknown("no CONFIG_HZ").in(c.file)
	}
	return info(strconv.Itoa(n), fmt.Sprintf("a busy CPU ticks every %.3g ms: gaps on that grid are the tick's", 1000/float64(n))).in(c.file)
}

// preemption reports how the kernel can be preempted.
func preemption(m *machine, _ string) Check {
	const rt, debug = "sys/kernel/realtime", "sys/kernel/debug/sched/preempt"
	if n, err := m.number(rt); err == nil && n == 1 {
		return info("PREEMPT_RT", "the whole kernel can be preempted").in(rt)
	}
	if text, err := m.text(debug); err == nil {
		return info(strings.Trim(chosen(text, "()"), "() "), "").in(debug)
	}
	c := &m.config
	if c.err != nil {
		return unread(c.err).in(c.file)
	}
	value := ""
	for _, name := range []string{"NONE", "VOLUNTARY", "LAZY", "RT"} {
		if c.setting("CONFIG_PREEMPT_"+name) == "y" {
			value = strings.ToLower(name)
		}
	}
	if c.setting("CONFIG_PREEMPT") == "y" {
		value = "full"
	}
	if value == "" {
		return unknown("no CONFIG_PREEMPT_*").in(c.file)
	}
	if c.setting("CONFIG_PREEMPT_DYNAMIC") == "y" {
		value += " as built, may be changed at boot (preempt=)"
	}
	return info(value, "").in(c.file)
}

// interrupts checks which devices interrupt the probe's CPU.
func (m *machine) interrupts(lines []string) Check {
	slices.SortFunc(lines, func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	var on []string
	read := 0
	for _, line := range lines {
		dir := "proc/irq/" + line
		cpus, err := m.cpuList(dir + "/effective_affinity_list")
		if err != nil {
			continue // default_smp_affinity, or a line without a device
		}
		read++
		if m.on(cpus) {
			on = append(on, m.device(dir, line))
		}
	}
	switch {
	case read == 0:
		return unknown("no effective_affinity_list")
	case len(on) == 0:
		return ok(fmt.Sprintf("no device of %d interrupts CPU %d", read, m.cpu))
	}
	verdict := info
	if m.isolated() {
		verdict = warn
	}
	return verdict(few(on), fmt.Sprintf("may interrupt CPU %d: write other CPUs to /proc/irq/N/smp_affinity_list, or irqaffinity= at boot", m.cpu))
}

// device returns the name of an interrupt's device, whose directory lies in that of
// the interrupt.
func (m *machine) device(dir, line string) string {
	names, _ := m.list(dir)
	for _, name := range names {
		switch name {
		case "affinity_hint", "effective_affinity", "effective_affinity_list", "node", "smp_affinity", "smp_affinity_list", "spurious":
		default:
			return name
		}
	}
	return line
}

// interruptsByDefault checks which CPUs the interrupts of later devices go to.
func interruptsByDefault(m *machine, text string) Check {
	cpus, err := parseCPUMask(text)
	switch {
	case err != nil:
		return unread(err)
	case !m.on(cpus):
		return ok(fmt.Sprintf("%s, without CPU %d", text, m.cpu))
	}
	return info(fmt.Sprintf("%s, with CPU %d", text, m.cpu), "a device that comes later may interrupt the probe: irqaffinity= at boot")
}

// irqBalance checks whether a daemon moves the interrupts about.
func irqBalance(m *machine, _ string) Check {
	switch {
	case len(m.threads) == 0:
		return unknown("no threads to be seen")
	case slices.ContainsFunc(m.threads, func(t thread) bool { return t.Name == "irqbalance" }):
		return info("running", "it moves interrupts to other CPUs as it likes: stop it, or ban the probe's CPU (IRQBALANCE_BANNED_CPULIST)")
	}
	return ok("not running")
}

// policy checks how this process is scheduled. The kernel takes the CPU away from a
// spinner in a real-time class, so that other threads run.
func (m *machine) policy(string) Check {
	self, err := m.self()
	name := policyNames[self.Policy]
	switch {
	case err != nil:
		return unread(err)
	case !realtime(&self):
		return ok("SCHED_" + name)
	case m.isolated():
		return info(fmt.Sprintf("SCHED_%s %d on an isolated CPU", name, self.Priority), "")
	}
	return warn(fmt.Sprintf("SCHED_%s %d on a shared CPU", name, self.Priority),
		"expect a gap of about 50 ms in each second, when the fair server lets others run: use SCHED_OTHER, or isolate the CPU")
}

// rtPriority reports the real-time priority that this process could ask for.
func rtPriority(_ *machine, text string) Check {
	for line := range strings.Lines(text) {
		rest, is := strings.CutPrefix(line, "Max realtime priority")
		if f := strings.Fields(rest); is && len(f) >= 2 {
			return info("at most "+f[0], "")
		}
	}
	return unknown("no line of the real-time priority")
}

const rtRuntime, rtPeriod = "proc/sys/kernel/sched_rt_runtime_us", "proc/sys/kernel/sched_rt_period_us"

// rtLimit reports how much of a period real-time threads may take.
func rtLimit(m *machine, runtime int64) Check {
	period, err := m.number(rtPeriod)
	if err != nil || period <= 0 {
		return unknown("no sched_rt_period_us")
	}
	if runtime < 0 {
		return info("none", "a real-time thread that spins can take a CPU for ever")
	}
	return info(fmt.Sprintf("%d of %d us", runtime, period), "")
}

// rtGroup checks whether a cgroup gives its real-time threads another part of a
// period than the machine does: with CONFIG_RT_GROUP_SCHED each v1 cgroup has
// files of its own (Documentation/scheduler/sched-rt-group.rst), and its limit
// takes the CPU away from its threads.
func (m *machine) rtGroup(string) Check {
	switch {
	case len(m.groups) == 0:
		return unknown(noCPUController)
	case m.groups[0].V2:
		return ok("cgroup v2 has no limit of its own")
	}
	self, _ := m.self() // rt.policy says so
	file := ""
	for i, g := range m.groups {
		file = g.Dir + "/cpu.rt_runtime_us"
		runtime, err := m.number(file)
		if i == 0 && err != nil { // its ancestors have none either
			return unread(err).in(file)
		}
		period, periodErr := m.number(g.Dir + "/cpu.rt_period_us")
		all, allErr := m.number(rtRuntime)
		each, eachErr := m.number(rtPeriod)
		if err := errors.Join(err, periodErr, allErr, eachErr); err != nil {
			return unread(err).in(file)
		}
		value := fmt.Sprintf("%d of %d us, where the machine's limit is %d of %d us", runtime, period, all, each)
		switch {
		case runtime == 0:
			return info("none", "no thread of this cgroup may have real-time priority").in(file)
		case runtime == all && period == each:
		case realtime(&self):
			return warn(value, "host.throttled is decided by the machine's limit, so gaps by this one are not recognised: use SCHED_OTHER, or set both alike").in(file)
		default:
			return info(value, "").in(file)
		}
	}
	return ok("as the machine's limit").in(file)
}

// fairServer reports what the kernel keeps for ordinary threads of a CPU that a
// real-time one spins on, since Linux 6.12.
func fairServer(m *machine, runtime int64) Check {
	period, err := m.number("sys/kernel/debug/sched/fair_server/cpu" + strconv.Itoa(m.cpu) + "/period")
	switch {
	case err != nil || period <= 0 || runtime < 0:
		return unknown("no period")
	case runtime == 0:
		return info("off", "a real-time thread that spins starves the kernel's own threads of the CPU")
	}
	return info(fmt.Sprintf("%v of %v", time.Duration(runtime), time.Duration(period)), "")
}

// watchdog checks whether the kernel looks for lockups on the probe's CPU.
func watchdog(m *machine, on int64) Check {
	if on == 0 {
		return ok("off")
	}
	cpus, err := m.cpuList("proc/sys/kernel/watchdog_cpumask")
	if err == nil && !m.on(cpus) {
		return ok(fmt.Sprintf("not on CPU %d", m.cpu))
	}
	value := "on"
	if nmi, err := m.number("proc/sys/kernel/nmi_watchdog"); err == nil && nmi == 1 {
		value = "on, with NMIs"
	}
	return info(value, "a timer and a thread of the highest priority every few seconds: take the CPU out of kernel.watchdog_cpumask")
}

// msrSMICount is MSR_SMI_COUNT of Intel's CPUs (SDM volume 4, table 2-2).
const msrSMICount = 0x34

// smiCount returns how many system management interrupts there have been.
func (m *machine) smiCount() (uint64, error) {
	if text, err := m.text("proc/cpuinfo"); err == nil {
		if vendor, _ := field(text, "vendor_id"); vendor != "GenuineIntel" {
			return 0, errors.New("only Intel's CPUs count them")
		}
	}
	f, err := m.Open("dev/cpu/" + strconv.Itoa(m.cpu) + "/msr")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // read only
	at, is := f.(io.ReaderAt)
	if !is {
		return 0, errors.New("cannot be read at an offset")
	}
	var b [8]byte
	_, err = at.ReadAt(b[:], msrSMICount)
	return binary.LittleEndian.Uint64(b[:]), err
}

// smi checks whether the firmware stops the CPUs.
func (m *machine) smi(string) Check {
	for _, err := range []error{m.after.smiErr, m.before.smiErr} {
		if err != nil {
			return unread(err)
		}
	}
	switch n := m.after.smi - min(m.after.smi, m.before.smi); {
	case n > 0:
		return warn(fmt.Sprintf("%d in the self-test", n), "the firmware stops all CPUs: look for power and USB legacy settings in the BIOS")
	case m.trial != nil:
		return ok(fmt.Sprintf("0 in the self-test, %d since boot", m.after.smi))
	}
	return info(fmt.Sprintf("%d since boot", m.after.smi), "")
}

func mitigations(m *machine, names []string) Check {
	mitigated, vulnerable := 0, 0
	for _, name := range names {
		text, _ := m.text("sys/devices/system/cpu/vulnerabilities/" + name)
		switch {
		case strings.HasPrefix(text, "Mitigation"):
			mitigated++
		case strings.HasPrefix(text, "Vulnerable"):
			vulnerable++
		}
	}
	return info(fmt.Sprintf("%d in force, %d left open", mitigated, vulnerable), "they set the price of each system call and interrupt; compare only machines with the same")
}
