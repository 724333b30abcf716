package gouprobe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/otelgc/otelgc/stall"
)

const (
	// ringSize has room for 2,300 stops: 23,000 a second. It counts as memory of the
	// sidecar's cgroup.
	ringSize = 128 << 10
	// maxDrain bounds a drain: a process that stops faster than the ring is drained
	// must not hold the reader.
	maxDrain = ringSize / (recordSize + 8)
	// maxThreads bounds the threads that are between entry and RET. It is one, but for
	// those of which the RET was missed.
	maxThreads = 256
)

// The cookies of the two kinds of probes.
const (
	atPush = iota
	atReturn
)

// probes are in a process as long as they are open.
type probes struct {
	ring, entered, drops *ebpf.Map
	program              *ebpf.Program
	link                 link.Link
	reader               *ringbuf.Reader
	record               ringbuf.Record
	lost                 uint64
}

// attachProbes attaches to a process, when it was tried that this does what it should.
func attachProbes(t *target) (*probes, error) {
	if err := tryFilter(); err != nil {
		return nil, err
	}
	p := &probes{}
	if err := p.open(t); err != nil {
		return nil, errors.Join(kernelError(err), p.close())
	}
	return p, nil
}

// kernelError says in one line what a refusal by the kernel means.
func kernelError(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return errRights
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("%w: this kernel has no uprobe_multi link (Linux 6.6 has)", stall.ErrNotSupported)
	case errors.Is(err, fs.ErrNotExist):
		return ErrEnded
	}
	return err
}

func (p *probes) open(t *target) (err error) {
	if p.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "otelgc_stops", Type: ebpf.RingBuf, MaxEntries: ringSize}); err != nil {
		return fmt.Errorf("make ring of stops: %w", err)
	}
	p.entered, err = ebpf.NewMap(&ebpf.MapSpec{Name: "otelgc_entered", Type: ebpf.Hash, KeySize: 8, ValueSize: entrySize, MaxEntries: maxThreads})
	if err != nil {
		return fmt.Errorf("make map of threads: %w", err)
	}
	p.drops, err = ebpf.NewMap(&ebpf.MapSpec{Name: "otelgc_drops", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return fmt.Errorf("make count of drops: %w", err)
	}
	if p.reader, err = ringbuf.NewReader(p.ring); err != nil {
		return fmt.Errorf("read stops: %w", err)
	}
	p.program, err = loadProgram(stopProgram(p.ring.FD(), p.entered.FD(), p.drops.FD()))
	if err != nil {
		return fmt.Errorf("load program: %w", err)
	}
	var addresses, cookies []uint64
	for _, r := range t.sites.returns {
		addresses, cookies = append(addresses, r), append(cookies, atReturn)
	}
	// The kernel puts them in one by one. This one is last, so that no stop is seen to
	// enter and not to return: it would be counted as lost.
	addresses, cookies = append(addresses, t.sites.push), append(cookies, atPush)
	p.link, err = attachAt(t.exe, p.program, &link.UprobeMultiOptions{Addresses: addresses, Cookies: cookies, PID: uint32(t.pid)})
	return err
}

func loadProgram(instructions asm.Instructions) (*ebpf.Program, error) {
	return ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "otelgc_stop", Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti,
		Instructions: instructions, License: "GPL",
	})
}

// attachAt attaches to instructions of the file that exe is open on, which may have no
// name any more.
func attachAt(exe *os.File, program *ebpf.Program, o *link.UprobeMultiOptions) (link.Link, error) {
	x, err := link.OpenExecutable(fmt.Sprintf("/proc/self/fd/%d", exe.Fd()))
	if err != nil {
		return nil, fmt.Errorf("open executable: %w", err)
	}
	return x.UprobeMulti(nil, program, o)
}

// drain appends the records that are there.
func (p *probes) drain(records []record) ([]record, error) {
	p.reader.SetDeadline(time.Now())
	for range maxDrain {
		err := p.reader.ReadInto(&p.record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return records, fmt.Errorf("read stops: %w", err)
		}
		if r, ok := decodeRecord(p.record.RawSample); ok {
			records = append(records, r)
		}
	}
	var value [8]byte
	if err := p.drops.Lookup(uint32(0), value[:]); err != nil {
		return records, fmt.Errorf("read count of drops: %w", err)
	}
	p.lost = binary.NativeEndian.Uint64(value[:])
	return records, nil
}

// decodeRecord reads what the program has written.
func decodeRecord(b []byte) (record, bool) {
	if len(b) != recordSize {
		return record{}, false
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(b[8*i:]) }
	return record{int64(word(0)), word(1), int64(word(2)), int64(word(3)), int64(word(4)), word(5)}, true
}

// close detaches from the process.
func (p *probes) close() error {
	var errs []error
	if p.link != nil {
		errs = append(errs, p.link.Close())
	}
	if p.program != nil {
		errs = append(errs, p.program.Close())
	}
	if p.reader != nil {
		errs = append(errs, p.reader.Close())
	}
	for _, m := range []*ebpf.Map{p.ring, p.entered, p.drops} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(errs...)
}
