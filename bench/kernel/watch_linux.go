package kernel

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// Hit is one call of a function.
type Hit struct {
	At       stall.Instant
	Function int // its number among those that were asked for
	// BX and CX are the second and the third word of the arguments, as the
	// runtime passes them on amd64 (Go internal ABI, "amd64 architecture").
	BX, CX uint64
}

// Watch records when threads of this program enter functions of the Go runtime. No probe
// has a part in that record. A watched call takes about a microsecond longer; with an
// execution trace, every system call of the thread would. It is for one goroutine.
//
// It depends on the names, the arguments and the first instructions of functions,
// and refuses what it does not find. It runs on amd64 only.
type Watch struct {
	rings  []*Ring
	places []place
	hits   []Hit // of one Read
	pid    int
}

// watchPages is room for 20,000 calls between two reads.
const watchPages = 256

// WatchThread watches what one thread of this process calls, by the full names of
// functions such as "runtime.execute". Like WatchProcess it needs CAP_SYS_ADMIN.
func WatchThread(tid int, functions ...string) (*Watch, error) {
	return watch(tid, []int{-1}, functions)
}

// WatchProcess watches what all threads of this process call, on any CPU.
func WatchProcess(functions ...string) (*Watch, error) {
	var cpus []int
	for cpu := range runtime.NumCPU() {
		cpus = append(cpus, cpu)
	}
	return watch(-1, cpus, functions)
}

const self = "/proc/self/exe"

func watch(tid int, cpus []int, functions []string) (*Watch, error) {
	if runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("watch calls: %w on %s", stall.ErrNotSupported, runtime.GOARCH)
	}
	kind, err := pmu()
	if err != nil {
		return nil, err
	}
	w := &Watch{pid: os.Getpid()}
	if w.places, err = find(self, functions); err != nil {
		return nil, err
	}
	path := append([]byte(self), 0)
	for _, cpu := range cpus {
		var ring *Ring
		for i, p := range w.places {
			a := unix.PerfEventAttr{
				Type: kind, Ext1: uint64(uintptr(unsafe.Pointer(&path[0]))), Ext2: p.offset, Sample: 1,
				Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_REGS_USER, Sample_regs_user: registers,
			}
			if ring == nil {
				if ring, err = openRing(&a, tid, cpu, watchPages); err == nil {
					w.rings = append(w.rings, ring)
				}
			} else {
				err = ring.add(&a, tid, cpu)
			}
			if err != nil {
				return nil, errors.Join(fmt.Errorf("watch calls of %s: %w", functions[i], err), w.Close())
			}
		}
	}
	runtime.KeepAlive(path)
	return w, nil
}

// registers are the bits of BX, CX and IP (arch/x86/include/uapi/asm/perf_regs.h).
const registers = 1<<1 | 1<<2 | 1<<8

// pmu returns the number of the kernel's source of such events.
func pmu() (uint32, error) {
	const file = "/sys/bus/event_source/devices/uprobe/type"
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("watch calls: %w", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("parse %s: %w", file, err)
	}
	return uint32(n), nil
}

// sampleSize is that of a sample: pid and tid, time, what kind of registers, and
// three of them.
const sampleSize = 8 + 8 + 8 + 3*8

// Read calls f with the calls since the last Read, in order of time. It is an error
// if some of them were lost.
func (w *Watch) Read(f func(Hit)) error {
	le := binary.LittleEndian
	w.hits = w.hits[:0]
	lost := uint64(0)
	for _, r := range w.rings {
		lost += r.Read(func(b []byte) {
			if len(b) < sampleSize || int(le.Uint32(b)) != w.pid {
				return // of another process that runs this program
			}
			h := Hit{At: stall.Instant(le.Uint64(b[8:])), BX: le.Uint64(b[24:]), CX: le.Uint64(b[32:])}
			ip := le.Uint64(b[40:])
			if h.Function = slices.IndexFunc(w.places, func(p place) bool { return p.pc == ip }); h.Function >= 0 {
				w.hits = append(w.hits, h)
			}
		})
	}
	if lost > 0 {
		return fmt.Errorf("watch calls: %d of them lost", lost)
	}
	slices.SortStableFunc(w.hits, func(a, b Hit) int { return int(a.At - b.At) })
	for _, h := range w.hits {
		f(h)
	}
	return nil
}

// Close ends the watch.
func (w *Watch) Close() (err error) {
	for _, r := range w.rings {
		err = errors.Join(err, r.Close())
	}
	w.rings = nil
	return err
}

// place is where a probe is set.
type place struct {
	pc     uint64 // as the program has it
	offset uint64 // in the file
}

// prologue is PUSHQ BP; MOVQ SP, BP. The kernel emulates its first instruction;
// others, which it steps over one by one, cost ten times as much.
var prologue = []byte{0x55, 0x48, 0x89, 0xe5}

// maxPrologue is how far into a function its prologue may be, behind the check of
// the stack.
const maxPrologue = 64

// find returns the places of functions in a Go program. It does without symbols:
// a test binary has none.
func find(path string, names []string) ([]place, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("find functions: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, table := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || table == nil || f.Type != elf.ET_EXEC {
		return nil, fmt.Errorf("find functions in %s: %w: no Go program at a fixed address", path, stall.ErrNotSupported)
	}
	lines, err := table.Data()
	if err != nil {
		return nil, fmt.Errorf("find functions: %w", err)
	}
	symbols, err := gosym.NewTable(nil, gosym.NewLineTable(lines, text.Addr))
	if err != nil {
		return nil, fmt.Errorf("find functions in %s: %w", path, err)
	}
	var all []place
	for _, name := range names {
		fn := symbols.LookupFunc(name)
		if fn == nil || fn.Entry < text.Addr || fn.Entry >= text.Addr+text.Size {
			return nil, fmt.Errorf("find %s: %w: this Go runtime has no such function", name, stall.ErrNotSupported)
		}
		b := make([]byte, min(maxPrologue, fn.End-fn.Entry))
		if _, err := io.ReadFull(io.NewSectionReader(text, int64(fn.Entry-text.Addr), maxPrologue), b); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		at := bytes.Index(b, prologue)
		if at < 0 {
			return nil, fmt.Errorf("find prologue of %s: %w: not in its first %d bytes", name, stall.ErrNotSupported, len(b))
		}
		pc := fn.Entry + uint64(at)
		all = append(all, place{pc, pc - text.Addr + text.Offset})
	}
	return all, nil
}
