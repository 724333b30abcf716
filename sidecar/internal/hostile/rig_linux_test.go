package hostile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
)

var (
	// patience is a guard, not a claim: what takes longer does not happen.
	patience = flag.Duration("patience", time.Minute, "how long to wait for what does not happen")
	alone    = flag.Bool("alone", false, "run a sidecar for each lie, to see which of them did what")
)

// portName is the reverse port, in the directory that holds those of the liars.
const portName = "port"

// pod is what the chart gives the sidecar.
type pod struct {
	memory   int64  // its limit, in bytes
	goMemory string // GOMEMLIMIT
}

var (
	manifestLimit   = regexp.MustCompile(`"limits":\{[^}]*"memory":"(\d+)Mi"`)
	manifestGoLimit = regexp.MustCompile(`"name":"GOMEMLIMIT","value":"(\w+)"`)
)

func readManifest(t *testing.T) pod {
	t.Helper()
	text, err := os.ReadFile("../../../charts/otelgc/examples/go.yaml")
	if err != nil {
		t.Fatal(err)
	}
	limit, goLimit := manifestLimit.FindSubmatch(text), manifestGoLimit.FindSubmatch(text)
	if limit == nil || goLimit == nil {
		t.Fatalf("the manifest names no limit of memory (%s) or no GOMEMLIMIT (%s)", limit, goLimit)
	}
	mebibytes, err := strconv.ParseInt(string(limit[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pod{memory: mebibytes << 20, goMemory: string(goLimit[1])}
}

// running is the sidecar in its cgroup.
type running struct {
	t        *testing.T
	group    *group
	receiver *otlptest.Receiver
	cmd      *exec.Cmd
	begun    time.Time
	stdout   bytes.Buffer // to be read when it has ended
	stderr   lines
	done     chan struct{}
	err      error // how it ended
}

func startSidecar(t *testing.T, name string, args ...string) *running {
	t.Helper()
	p := readManifest(t)
	r := &running{t: t, group: newGroup(t, "sidecar-"+name, p.memory), receiver: otlptest.NewHTTP(t), begun: time.Now(), done: make(chan struct{})}
	args = append([]string{
		"run", "--mode=periodic", "--target=auto", "--json", "--board=off",
	}, args...)
	r.cmd = exec.Command(sidecar, args...)
	r.cmd.Env = append(os.Environ(), "GOMEMLIMIT="+p.goMemory,
		"OTEL_EXPORTER_OTLP_ENDPOINT="+r.receiver.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_BLRP_SCHEDULE_DELAY=200", "OTEL_METRIC_EXPORT_INTERVAL=5000")
	r.group.within(r.cmd)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		r.err = r.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.done
	})
	return r
}

// ended reports whether the sidecar has ended, which nobody asked for.
func (r *running) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// wait waits until holds does, at most for patience, and reports whether it did.
func (r *running) wait(holds func() bool) bool {
	for end := time.Now().Add(*patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if r.ended() || time.Now().After(end) {
			return false
		}
	}
	return true
}

// told is how long the sidecar took to end when it was told to.
func (r *running) end() (took time.Duration) {
	begin := time.Now()
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-r.done:
	case <-time.After(*patience):
		_ = r.cmd.Process.Signal(syscall.SIGQUIT) // with the stacks of its goroutines
		<-r.done
	}
	return time.Since(begin)
}

// summary is what the document of run says of one process.
type summary struct {
	PID         int    `json:"pid"`
	Service     string `json:"service"`
	Sessions    int    `json:"sessions"`
	FirstIndex  uint64 `json:"first_index"`
	LastIndex   uint64 `json:"last_index"`
	Incomplete  uint64 `json:"incomplete"`
	Lost        uint64 `json:"lost"`
	Late        uint64 `json:"late"`
	Unseen      int64  `json:"unseen"`
	Why         string `json:"why"`
	Collections struct {
		Total uint64 `json:"total"`
	} `json:"collections"`
	Unexported json.RawMessage `json:"not_exported"`
}

func (r *running) summaries() map[int][]summary {
	var d struct {
		Targets []summary `json:"targets"`
	}
	if err := json.Unmarshal(r.stdout.Bytes(), &d); err != nil {
		r.t.Errorf("the document of the sidecar: %v", err)
	}
	all := make(map[int][]summary)
	for _, s := range d.Targets {
		all[s.PID] = append(all[s.PID], s)
	}
	return all
}

// lines is a log.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// with returns the lines that hold all of the words.
func (l *lines) with(words ...string) (found []string) {
next:
	for line := range strings.Lines(l.String()) {
		line = strings.TrimSuffix(line, "\n")
		for _, word := range words {
			if !strings.Contains(line+" ", word) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// about is what a line of the log about a process holds.
func about(pid int) string { return fmt.Sprintf(" pid=%d ", pid) }

// needs begins what a liar says that lacks a right.
const needs = "needs "

// teller is a lie and the processes that tell it.
type teller struct {
	*lie
	pids []int
}

// startLie starts the processes of a lie, and returns when they are ready.
func startLie(t *testing.T, base string, number int, l *lie, honest int) teller {
	t.Helper()
	x := teller{lie: l}
	for i := range max(l.count, 1) {
		uid := l.uid
		if uid == 0 {
			uid = 60200 + number
		}
		if l.root {
			uid = 0
		}
		dir := filepath.Join(base, fmt.Sprintf("%d-%d", number, i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		// A link of its own: what lies beside the program is of the liar.
		program := filepath.Join(dir, "liar")
		if err := os.Link(liarExe, program); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
		if l.prepare != nil {
			if err := l.prepare(dir); err != nil {
				t.Fatal(err)
			}
		}
		environment := env(dir)
		if l.env != nil {
			environment = l.env(dir, honest)
		}
		cmd := exec.Command(program)
		cmd.Dir = dir
		cmd.Env = append(environment, roleVariable+"="+roleLiar, dirVariable+"="+dir, lieVariable+"="+l.name)
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		if l.inNet { // it raises its limits, too
			cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
		} else {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
		}
		x.pids = append(x.pids, startLiar(t, cmd))
	}
	if l.container != "" {
		g := newGroup(t, "docker-"+l.container+".scope", 0)
		for _, pid := range x.pids {
			g.add(pid)
		}
	}
	return x
}

func startLiar(t *testing.T, cmd *exec.Cmd) (pid int) {
	t.Helper()
	var stderr lines
	cmd.Stderr = &stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		_, _ = io.Copy(io.Discard, out)
		if _, why, ok := strings.Cut(stderr.String(), needs); ok {
			t.Skipf("skipped: %s%s", needs, strings.TrimSpace(why))
		}
		t.Fatalf("a liar is not ready: %q, %v: %s", line, err, stderr.String())
	}
	if text := stderr.String(); text != "" {
		t.Logf("a liar says: %s", text)
	}
	return cmd.Process.Pid
}
