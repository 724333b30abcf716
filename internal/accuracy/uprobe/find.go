package uprobe

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"io"

	"github.com/otelgc/otelgc/stall"
)

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
