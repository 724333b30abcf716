package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// longest is how long a command may take: the first build of a Collector takes minutes.
const longest = 10 * time.Minute

// needed are the programs that the commands call.
var needed = []string{"bash", "curl", "git", "make", "openssl", "pgrep", "xargs"}

// TestCommands runs the commands of all pages in a copy of the tree, each as it stands
// there, page by page in their order. It names those that it does not run.
func TestCommands(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("builds a Collector, and runs all that the pages have")
	case os.Getuid() != 0:
		t.Skip("the sidecar watches other processes, and writes a board that is believed: needs root")
	}
	for _, name := range needed {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("the commands of the pages call it: %v", err)
		}
	}
	for _, port := range regexp.MustCompile(`\d{4,}`).FindAllString(portsOf(t), -1) {
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatalf("the commands of the pages need this address for themselves: %v", err)
		}
		_ = l.Close() // it was only tried
	}
	aside(t, "/tmp/otelgc") // what a Collector writes there would be taken for that of another
	asRoot(t)
	s, dir, ran := whole(t), t.TempDir(), make(map[string]bool)
	copyTree(t, s.root, dir)
	for _, p := range s.sorted() {
		commands, err := p.commands()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(commands, func(c command) bool { return c.text != "" }) {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			r := runner{T: t, dir: dir}
			defer r.end(0)
			for _, c := range commands {
				switch {
				case c.text == "":
					r.end(c.level)
				case r.without != "":
					t.Logf("%s:%d is not run: %s", c.page, c.line, r.without)
				case c.instead != "":
					command, missing := standIn(t, c.instead)
					if missing != "" {
						t.Logf("%s:%d and the rest of its section is not run: %s", c.page, c.line, missing)
						r.without, r.level = missing, c.level
						continue
					}
					t.Logf("%s:%d is not run: %s; instead: %s", c.page, c.line, c.not, c.instead)
					r.start(&c, command)
				case c.not != "":
					t.Logf("%s:%d is not run: %s", c.page, c.line, c.not)
				case c.until != "":
					r.start(&c, c.text)
				case p.path != "docs/start.md" && ran[c.prints+c.text]:
					t.Logf("%s:%d was run on another page", c.page, c.line)
				default:
					ran[c.prints+c.text] = true
					r.run(&c)
				}
			}
		})
	}
}

// portsOf returns the sentence on the ports that have to be free.
func portsOf(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`The ports [^.]*? of the loopback address`).Find(page)
	if found == nil {
		t.Fatal("docs/start.md does not say which ports have to be free")
	}
	return string(found)
}

// standIn returns a command that is run in place of the reader's own program, or what is
// missing for it.
func standIn(t *testing.T, name string) (command, missing string) {
	t.Helper()
	if name != "dotnet" {
		t.Fatalf("there is no program to run in place of %q", name)
	}
	// A server that speaks JSON-RPC: what it is asked for makes it allocate.
	azmcp := os.Getenv("OTELGC_AZMCP")
	if azmcp == "" {
		return "", "$OTELGC_AZMCP is not set"
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	return fmt.Sprintf("{ echo '%s'; while sleep 0.1; do echo '%s'; done; } | %s server start", initialize, list, azmcp), ""
}

// runner runs the commands of a page.
type runner struct {
	*testing.T
	dir     string
	going   []*started
	without string // why the rest of a section cannot be run
	level   int    // of that section
}

// started is a command that goes on.
type started struct {
	*command
	process *exec.Cmd
	output  *output
	ended   chan struct{}
}

// output is what a command has written.
type output struct {
	sync.Mutex
	b bytes.Buffer
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.Lock()
	defer o.Unlock()
	return o.b.Write(p)
}

// String returns all of it.
func (o *output) String() string {
	o.Lock()
	defer o.Unlock()
	return o.b.String()
}

// shell returns a command of the shell in a group of its own.
func (r *runner) shell(ctx context.Context, text string) (*exec.Cmd, *output) {
	c, out := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text), new(output)
	c.Dir, c.Stdout, c.Stderr = r.dir, out, out
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL") })
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 10 * time.Second
	return c, out
}

// run runs a command that ends. One that is to print something is run again until it
// does: on a busy machine what it looks at comes later than the page says.
func (r *runner) run(c *command) {
	r.Helper()
	begun := time.Now()
	ctx, stop := context.WithTimeout(r.Context(), longest)
	defer stop()
	for tries := 1; ; tries++ {
		process, out := r.shell(ctx, c.text)
		err := process.Run()
		if err == nil && (c.prints == "" || regexp.MustCompile(`(?m)`+c.prints).MatchString(out.String())) {
			r.Logf("%s:%d: %.0f s", c.page, c.line, time.Since(begun).Seconds())
			return
		}
		if c.prints == "" || tries == 3 {
			var others strings.Builder
			for _, s := range r.going {
				others.WriteString("\n--- " + s.text + s.output.String())
			}
			r.Fatalf("%s:%d: %v, want it to print %q\n%s\n%s%s", c.page, c.line, err, c.prints, c.text, out, &others)
		}
	}
}

// start starts a command that goes on until its section ends.
func (r *runner) start(c *command, text string) {
	r.Helper()
	begun := time.Now()
	s := &started{command: c, ended: make(chan struct{})}
	s.process, s.output = r.shell(context.WithoutCancel(r.Context()), text)
	if err := s.process.Start(); err != nil {
		r.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		_ = s.process.Wait() // it is told to end
	}()
	r.going = append(r.going, s)
	for !strings.Contains(s.output.String(), c.until) {
		select {
		case <-s.ended:
			if !strings.Contains(s.output.String(), c.until) {
				r.Fatalf("%s:%d ended, and did not say %q\n%s\n%s", c.page, c.line, c.until, text, s.output)
			}
		case <-time.After(50 * time.Millisecond):
		}
		if time.Since(begun) > longest {
			r.Fatalf("%s:%d does not say %q\n%s\n%s", c.page, c.line, c.until, text, s.output)
		}
	}
	r.Logf("%s:%d: %.0f s until it says %q", c.page, c.line, time.Since(begun).Seconds(), c.until)
}

// end ends what was started under headings of a level or deeper ones, as Ctrl-C does.
func (r *runner) end(level int) {
	r.Helper()
	if level <= r.level {
		r.without = ""
	}
	for len(r.going) > 0 && r.going[len(r.going)-1].level >= level {
		s := r.going[len(r.going)-1]
		r.going = r.going[:len(r.going)-1]
		select {
		case <-s.ended:
			r.Errorf("%s:%d ended by itself\n%s\n%s", s.page, s.line, s.text, s.output)
		default:
		}
		_ = syscall.Kill(-s.process.Process.Pid, syscall.SIGINT) // it may have ended
		select {
		case <-s.ended:
		case <-time.After(30 * time.Second):
			r.Errorf("%s:%d goes on after an interrupt\n%s\n%s", s.page, s.line, s.text, s.output)
			_ = syscall.Kill(-s.process.Process.Pid, syscall.SIGKILL)
			<-s.ended
		}
	}
}

// asRoot has the commands find a sudo: the test is root, and not each machine has one.
func asRoot(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "sudo"), []byte("#!/bin/sh\nexec env \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// aside moves a directory away until the test ends.
func aside(t *testing.T, dir string) {
	t.Helper()
	away := fmt.Sprintf("%s.%d", dir, os.Getpid())
	if err := os.Rename(dir, away); errors.Is(err, fs.ErrNotExist) {
		away = ""
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(dir)
		if away != "" {
			err = errors.Join(err, os.Rename(away, dir))
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// copyTree copies the files of a working tree, those that are not committed yet as well.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = from
	names, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		} else if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, info.Mode().Perm()|0o200)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
