package hostwatch

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// The file of a child with role rounds, and how much of it a round looks at.
const (
	pageSize    = 4096
	filePages   = 32 << 10 // 128 MiB, more than the child may have
	memoryLimit = 64 << 20
	roundPages  = 256
	nearPages   = 256 // at the beginning of the file: they stay in memory
)

// readRounds looks at pages of the file that it was given, a round for each line
// that it reads: near, or far. It answers with the begin and the end of the round.
func readRounds() {
	if err := rounds(); err != nil && err != io.EOF {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func rounds() error {
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	mem, err := unix.Mmap(3, 0, filePages*pageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	if err := unix.Madvise(mem, unix.MADV_RANDOM); err != nil {
		return err
	}
	sum := new(atomic.Uint32)
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		among := nearPages
		if line == "far\n" {
			among = filePages
		}
		begin := clock.Now()
		for i := range roundPages {
			page := i
			if among > nearPages {
				page = rand.IntN(among)
			}
			sum.Add(uint32(mem[page*pageSize]))
		}
		fmt.Println(int64(begin), int64(clock.Now()))
	}
}

// reader is a child with role rounds.
type reader struct {
	t   *testing.T
	pid int
	in  io.Writer
	out *bufio.Reader
}

// startReader starts a child in a cgroup that has less memory than its file. No
// page of that is in memory yet.
func startReader(t *testing.T) *reader {
	t.Helper()
	dir := makeMemoryLimit(t, memoryLimit)
	f, err := os.CreateTemp(".", "paged") // temporary files may be in memory
	if err != nil {
		t.Skipf("no file can be made here: %v", err)
	}
	defer func() { _ = f.Close() }() // the child has it
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	for range filePages * pageSize / (1 << 20) {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			t.Skipf("no room for a file of %d bytes: %v", filePages*pageSize, err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=rounds", "GOMAXPROCS=2")
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{f}
	in, err := cmd.StdinPipe()
	if err != nil {
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
		_ = in.Close()
		_ = cmd.Wait() // it ends with its input
	})
	enter(t, dir, cmd.Process.Pid)
	return &reader{t: t, pid: cmd.Process.Pid, in: in, out: bufio.NewReader(out)}
}

// round has the child look at pages, and returns when it did.
func (r *reader) round(which string) (s stall.Span) {
	r.t.Helper()
	if _, err := fmt.Fprintln(r.in, which); err != nil {
		r.t.Fatal(err)
	}
	line, err := r.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &s.Start, &s.End)
	}
	if err != nil {
		r.t.Fatalf("round of the child: %q, %v", line, err)
	}
	return s
}
