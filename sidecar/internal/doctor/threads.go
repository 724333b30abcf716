package doctor

import (
	"errors"
	"strconv"
	"strings"
)

// maxThreads bounds how many threads of the machine are looked at.
const maxThreads = 1 << 14

// Scheduling policies (sched(7)), as /proc/PID/stat names them.
const (
	schedFIFO     = 1
	schedRR       = 2
	schedDeadline = 6
)

var policyNames = map[int]string{0: "OTHER", schedFIFO: "FIFO", schedRR: "RR", 3: "BATCH", 5: "IDLE", schedDeadline: "DEADLINE", 7: "EXT"}

// thread is what /proc/PID/task/TID/stat says of a thread.
type thread struct {
	pid, tid int
	name     string
	state    string // R is running or runnable
	cpu      int    // where it ran last
	policy   int
	priority int // real-time priority
}

// realtime reports whether t goes before every ordinary thread.
func (t *thread) realtime() bool {
	return t.policy == schedFIFO || t.policy == schedRR || t.policy == schedDeadline
}

// allThreads returns the threads of the machine, those of the process first
// first, and whether it stopped at maxThreads. Threads that end meanwhile are
// left out.
func (r root) allThreads(first int) (all []thread, partial bool) {
	names, err := r.list("proc")
	if err != nil {
		return nil, false // without /proc every check says so
	}
	if first != 0 {
		all = r.threadsOf(all, first)
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == first {
			continue
		}
		if len(all) >= maxThreads {
			return all, true
		}
		all = r.threadsOf(all, pid)
	}
	return all, false
}

func (r root) threadsOf(all []thread, pid int) []thread {
	dir := "proc/" + strconv.Itoa(pid) + "/task"
	tids, err := r.list(dir)
	if err != nil {
		return all
	}
	for _, name := range tids {
		tid, err := strconv.Atoi(name)
		if err != nil || len(all) >= maxThreads {
			continue
		}
		text, err := r.text(dir + "/" + name + "/stat")
		if err != nil {
			continue
		}
		if t, err := parseStat(text); err == nil {
			t.pid, t.tid = pid, tid
			all = append(all, t)
		}
	}
	return all
}

// parseStat reads /proc/PID/stat (proc_pid_stat(5)). The name, field 2, may
// hold spaces and parentheses of its own.
func parseStat(text string) (thread, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return thread{}, errors.New("no name in parentheses")
	}
	const first = 3 // the field after the name
	f := strings.Fields(text[end+1:])
	if len(f) <= 41-first {
		return thread{}, errors.New("fewer than 41 fields")
	}
	t := thread{name: text[open+1 : end], state: f[0]}
	for _, field := range []struct {
		number int
		to     *int
	}{{39, &t.cpu}, {40, &t.priority}, {41, &t.policy}} {
		n, err := strconv.Atoi(f[field.number-first])
		if err != nil {
			return thread{}, err
		}
		*field.to = n
	}
	return t, nil
}
