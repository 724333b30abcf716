package uprobe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/accuracy/perfring"
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

// Watch tells of calls. It is for one goroutine.
type Watch struct {
	rings  []*perfring.Ring
	places []place
	hits   []Hit // of one Read
	pid    int
}

// pages is room for 20,000 calls between two reads.
const pages = 256

// Thread watches what one thread of this process calls, by the full names of
// functions such as "runtime.execute". Like Process it needs CAP_SYS_ADMIN.
func Thread(tid int, functions ...string) (*Watch, error) {
	return open(tid, []int{-1}, functions)
}

// Process watches what all threads of this process call, on any CPU.
func Process(functions ...string) (*Watch, error) {
	var cpus []int
	for cpu := range runtime.NumCPU() {
		cpus = append(cpus, cpu)
	}
	return open(-1, cpus, functions)
}

const self = "/proc/self/exe"

func open(tid int, cpus []int, functions []string) (*Watch, error) {
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
		var ring *perfring.Ring
		for i, p := range w.places {
			a := unix.PerfEventAttr{
				Type: kind, Ext1: uint64(uintptr(unsafe.Pointer(&path[0]))), Ext2: p.offset, Sample: 1,
				Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_REGS_USER, Sample_regs_user: registers,
			}
			if ring == nil {
				if ring, err = perfring.Open(&a, tid, cpu, pages); err == nil {
					w.rings = append(w.rings, ring)
				}
			} else {
				err = ring.Add(&a, tid, cpu)
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

// Read hands the calls since the last Read to f, in order of time. It is an error
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
