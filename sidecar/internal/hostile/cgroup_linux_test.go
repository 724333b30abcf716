package hostile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newGroups makes a cgroup in which cgroups with a limit of memory can be made,
// in version 1 or 2, and says how to remove it.
func newGroups() (dir string, remove func(), err error) {
	parents, err := memoryParents()
	if err != nil {
		return "", nil, err
	}
	var failed error
	for _, parent := range parents {
		sweep(parent)
		dir := filepath.Join(parent, ownName())
		if err := os.Mkdir(dir, 0o755); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if err := limitable(dir); err != nil {
			failed = errors.Join(failed, err)
			_ = os.Remove(dir)
			continue
		}
		return dir, func() { removeGroups(dir) }, nil
	}
	return "", nil, failed
}

// memoryParents returns where this process may be allowed to make cgroups: below
// its own, and below the root of the hierarchy.
func memoryParents() ([]string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(mounts)) { // proc_pid_mountinfo(5)
		f := strings.Fields(line)
		dash := slices.Index(f, "-")
		if dash < 0 || len(f) < dash+4 {
			continue
		}
		controller := ""
		switch {
		case f[dash+1] == "cgroup" && slices.Contains(strings.Split(f[dash+3], ","), "memory"):
			controller = "memory"
		case f[dash+1] == "cgroup2":
			has, err := os.ReadFile(filepath.Join(f[4], "cgroup.controllers"))
			if err != nil || !slices.Contains(strings.Fields(string(has)), "memory") {
				continue
			}
		default:
			continue
		}
		if below, ok := strings.CutPrefix(ownPath(string(own), controller), strings.TrimSuffix(f[3], "/")); ok {
			found = append(found, filepath.Join(f[4], below))
		}
		found = append(found, f[4])
	}
	if len(found) == 0 {
		return nil, errors.New("no hierarchy of cgroups with the controller of memory is mounted")
	}
	return found, nil
}

// ownPath returns the path of this process in the hierarchy of a controller,
// empty for version 2, cgroups(7).
func ownPath(text, controller string) string {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			return f[2]
		}
	}
	return ""
}

// limitable makes the cgroups below dir have a limit of memory.
func limitable(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "memory.limit_in_bytes")); err == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "memory.max")); err != nil {
		// Only the root of the hierarchy may hold processes and do this.
		if err := write(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), "+memory"); err != nil {
			return err
		}
	}
	return write(filepath.Join(dir, "cgroup.subtree_control"), "+memory")
}

const ownPrefix = "otelgc-hostile-"

// ownName is the name of what this run makes outside of its namespaces.
func ownName() string { return ownPrefix + strconv.Itoa(os.Getpid()) }

// sweep removes what runs have left in a directory that were killed.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), ownPrefix)
		pid, err := strconv.Atoi(number)
		if !ok || err != nil || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		if isGroup(dir) {
			removeGroups(dir)
		} else {
			_ = os.RemoveAll(dir)
		}
	}
}

func isGroup(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.procs"))
	return err == nil
}

// removeGroups removes a cgroup and those in it. Files of a cgroup do not count.
func removeGroups(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeGroups(filepath.Join(dir, e.Name()))
		}
	}
	if err := os.Remove(dir); err != nil {
		fmt.Fprintf(os.Stderr, "a cgroup is left: %v\n", err)
	}
}

func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }

// group is a cgroup that processes are started in.
type group struct {
	t   *testing.T
	dir string
}

// newGroup makes a cgroup. A limit of zero is none.
func newGroup(t *testing.T, name string, limit int64) *group {
	t.Helper()
	g := &group{t, filepath.Join(groups, name)}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if limit == 0 {
		return g
	}
	for _, f := range []struct{ name, value string }{
		{"memory.limit_in_bytes", strconv.FormatInt(limit, 10)},
		{"memory.memsw.limit_in_bytes", strconv.FormatInt(limit, 10)},
		{"memory.max", strconv.FormatInt(limit, 10)},
		{"memory.swap.max", "0"},
	} {
		path := filepath.Join(g.dir, f.name)
		if _, err := os.Stat(path); err != nil {
			continue // of the other version, or a kernel without swap
		}
		if err := write(path, f.value); err != nil {
			t.Fatal(err)
		}
	}
	if got := max(g.number("memory.limit_in_bytes"), g.number("memory.max")); got != limit {
		t.Fatalf("the limit of %s is %d, want %d", g.dir, got, limit)
	}
	return g
}

// within makes cmd start in g.
func (g *group) within(cmd *exec.Cmd) {
	cmd.Args = append([]string{liarExe, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = liarExe
	cmd.Env = append(cmd.Env, enterVariable+"="+g.dir)
}

// enter enters the cgroup that it was told and becomes the command in the
// arguments.
func enter() error {
	if err := write(filepath.Join(os.Getenv(enterVariable), "cgroup.procs"), "0"); err != nil {
		return err
	}
	if err := os.Unsetenv(enterVariable); err != nil {
		return err
	}
	return unix.Exec(os.Args[1], os.Args[1:], os.Environ())
}

// add moves a process into g.
func (g *group) add(pid int) {
	g.t.Helper()
	if err := write(filepath.Join(g.dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
		g.t.Fatal(err)
	}
}

// number reads a file that holds one number, 0 if it is not there.
func (g *group) number(name string) int64 {
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// peak is the most memory that was in use at once, page cache included: the
// kernel takes that back where it is short, so peak may be the limit.
func (g *group) peak() int64 {
	return max(g.number("memory.max_usage_in_bytes"), g.number("memory.peak"))
}

// killed is how often the kernel killed a process for lack of memory.
func (g *group) killed() int64 {
	for _, name := range []string{"memory.oom_control", "memory.events"} {
		text, err := os.ReadFile(filepath.Join(g.dir, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
				n, _ := strconv.ParseInt(f[1], 10, 64)
				return n
			}
		}
	}
	g.t.Errorf("%s does not count who was killed", g.dir)
	return 0
}
