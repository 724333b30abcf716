// Package proc reads what the kernel says of processes and CPUs, proc(5), below a root
// that is os.DirFS("/") but in tests. A process is named by its PID, or by "self". No
// more than a bounded part of a file is read.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// StartTime returns the wall time of a number of clock ticks after the boot. The boot
// time is in whole seconds, and moves when the wall clock is stepped.
func StartTime(root fs.FS, ticks uint64) (time.Time, error) {
	stat, err := Read(root, "proc/stat")
	if err != nil {
		return time.Time{}, fmt.Errorf("read boot time: %w", err)
	}
	boot, err := strconv.ParseInt(field(stat, "btime "), 10, 64)
	if err == nil && ticks > uint64(1<<62/Tick) {
		err = fmt.Errorf("a start time of %d ticks", ticks)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read boot time: /proc/stat: %w", err)
	}
	return time.Unix(boot, 0).Add(time.Duration(ticks) * Tick), nil
}

// Age returns for how long a process has existed, within Tick. It counts the time in
// which the machine slept.
func Age(root fs.FS, process string) (time.Duration, error) {
	stat, err := ReadStat(root, process)
	if err != nil {
		return 0, err
	}
	text, err := Read(root, "proc/uptime")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	up, err := strconv.ParseFloat(first, 64)
	age := up - float64(stat.Created)/float64(time.Second/Tick)
	if err == nil && !(age >= 0 && age < 1e9) {
		err = fmt.Errorf("an uptime of %v s, and a process made at %d ticks", up, stat.Created)
	}
	if err != nil {
		return 0, fmt.Errorf("read /proc/uptime: %w", err)
	}
	return time.Duration(age * 1e9), nil
}

// CPUs returns the CPUs that a process may use: those of its affinity that are
// online. On a machine that more can be added to, the affinity has them already.
func CPUs(root fs.FS, process string) ([]int, error) {
	status, err := Read(root, "proc/"+process+"/status")
	if err != nil {
		return nil, err
	}
	allowed, err := ParseCPUs(field(status, "Cpus_allowed_list:"))
	if err == nil && len(allowed) == 0 {
		err = errors.New("no Cpus_allowed_list")
	}
	if err != nil {
		return nil, fmt.Errorf("read /proc/%s/status: %w", process, err)
	}
	if list, err := Read(root, "sys/devices/system/cpu/online"); err == nil {
		if online, err := ParseCPUs(string(list)); err == nil && len(online) > 0 {
			allowed = slices.DeleteFunc(allowed, func(cpu int) bool { return !slices.Contains(online, cpu) })
		}
	}
	return allowed, nil
}

// maxCPUs is CONFIG_NR_CPUS of the largest kernels of distributions.
const maxCPUs = 1 << 13

// ParseCPUs reads a list of CPUs as the kernel writes it, such as "0-3,8"
// (Documentation/admin-guide/kernel-parameters.rst, "cpu lists"). It returns each once,
// sorted, and none of an empty list, for which nohz_full writes "(null)".
func ParseCPUs(list string) (cpus []int, err error) {
	if list = strings.TrimSpace(list); list == "" || list == "(null)" {
		return nil, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err1 != nil || err2 != nil || to < from || to >= maxCPUs {
			return nil, fmt.Errorf("parse list of CPUs: %.20q is not a CPU below %d, nor a span of them", part, maxCPUs)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, int(cpu))
		}
		if len(cpus) > 2*maxCPUs {
			return nil, fmt.Errorf("parse list of CPUs: more than %d", 2*maxCPUs)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// field returns what follows on a name at the begin of a line, without the space
// around it.
func field(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// MaxFile bounds the files that Read returns.
const MaxFile = 1 << 20

// Read returns the text of a file, which must not have more than 1 MiB.
func Read(root fs.FS, name string) ([]byte, error) {
	f, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(text) > MaxFile {
		err = fmt.Errorf("read /%s: longer than %d bytes", name, MaxFile)
	}
	return text, err
}

// Program returns what tells the program that a process executes from any other that it
// executes, before or after: the auxiliary vector that the kernel gave it, which holds random
// addresses (getauxval(3), AT_RANDOM). It is empty once the process,
// or its first thread, has ended.
func Program(root fs.FS, process string) ([]byte, error) {
	text, err := Read(root, process+"/auxv")
	if errors.Is(err, syscall.ESRCH) { // what some kernels say of what has no memory any more
		return nil, nil
	}
	return text, err
}

// Open opens a file. Its errors name the file as people know it.
func Open(root fs.FS, name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: "/" + name, Err: fs.ErrInvalid}
	}
	f, err := root.Open(name)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return nil, &fs.PathError{Op: e.Op, Path: "/" + name, Err: e.Err}
	}
	return f, err
}

// List returns the names in a directory, such as the threads in proc/PID/task, and
// whether those are all. It returns most of them at most.
func List(root fs.FS, name string, most int) (names []string, all bool, err error) {
	f, err := Open(root, name)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, false, fmt.Errorf("list /%s: not a directory", name)
	}
	entries, err := dir.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("list /%s: %w", name, err)
	}
	for _, e := range entries[:min(len(entries), most)] {
		names = append(names, e.Name())
	}
	return names, len(entries) <= most, nil
}
