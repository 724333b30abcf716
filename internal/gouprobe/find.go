package gouprobe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/otelgc/otelgc/internal/goprogram"
)

// startTheWorld is the function that every stop of the world ends with.
const startTheWorld = "runtime.startTheWorldWithSema"

const (
	// maxLookup bounds what is read of an executable to find one function. The
	// tables of the largest programs have some 100 MB.
	maxLookup = 512 << 20
	// maxFuncs bounds the functions of a program; the largest have some 500,000.
	maxFuncs = 4 << 20
	// maxNames bounds the table of their names.
	maxNames = 256 << 20
	// maxRelocations bounds those of a program.
	maxRelocations = 8 << 20
	// maxCode bounds the code of the function, which has some 630 bytes.
	maxCode = 16 << 10
	// windowSize is how much of a table is held at a time.
	windowSize = 64 << 10
)

var errNoTable = errors.New("there is no section .gopclntab (was the program packed, or stripped of its sections?)")

var errLookup = fmt.Errorf("its tables are larger than the %d MB that are read", maxLookup>>20)

// sites are where the probes go, as offsets in the file.
type sites struct {
	push    uint64
	returns []uint64
	first   uint64 // of the function
	entry   uint64 // the address of first in memory, less where the program is loaded
}

// find finds the sites in an executable of a release. It takes no more memory than a
// few windows, whatever the executable says of its sizes.
func find(exe io.ReaderAt, r release) (sites, error) {
	f, err := goprogram.Headers(exe)
	if err != nil {
		return sites{}, fmt.Errorf("read executable: %w", err)
	}
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return sites{}, fmt.Errorf("read executable: it is for %v, want amd64", f.Machine)
	}
	m := &image{file: f, exe: exe, left: maxLookup}
	s, err := m.sites(r)
	if m.left < 0 {
		err = errLookup
	}
	if err != nil {
		return sites{}, fmt.Errorf("find %s: %w", startTheWorld, err)
	}
	return s, nil
}

// image is an executable, as it lies in memory.
type image struct {
	file *elf.File
	exe  io.ReaderAt
	left int64 // bytes that may be read
}

// ReadAt reads at an offset of the file.
func (m *image) ReadAt(p []byte, at int64) (int, error) {
	if m.left -= int64(len(p)); m.left < 0 {
		return 0, errLookup
	}
	return m.exe.ReadAt(p, at)
}

// offset returns where in the file n bytes of memory are, in a segment with all of flags.
func (m *image) offset(address, n uint64, flags elf.ProgFlag) (uint64, error) {
	for _, p := range m.file.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&flags != flags || address < p.Vaddr {
			continue
		}
		const most = 1 << 62 // a file is no longer
		if in := address - p.Vaddr; in < p.Filesz && n <= p.Filesz-in && p.Off < most && in < most {
			return p.Off + in, nil
		}
	}
	return 0, fmt.Errorf("no segment of the file is loaded at %#x", address)
}

// read reads n bytes of memory. The caller bounds n.
func (m *image) read(address, n uint64, flags elf.ProgFlag) ([]byte, error) {
	at, err := m.offset(address, n, flags)
	if err != nil {
		return nil, err
	}
	p := make([]byte, n)
	if _, err := m.ReadAt(p, int64(at)); err != nil {
		return nil, fmt.Errorf("read at %#x: %w", address, err)
	}
	return p, nil
}

// table is a part of the file that is read in windows.
type table struct {
	m        *image
	at, size uint64 // in the file
	from     uint64 // of buf, in the table
	buf      []byte
}

// part returns size bytes of memory at an address as a table.
func (m *image) part(address, size uint64) (*table, error) {
	at, err := m.offset(address, size, 0)
	if err != nil {
		return nil, err
	}
	return &table{m: m, at: at, size: size}, nil
}

// sub returns what of t begins at an offset.
func (t *table) sub(at uint64) (*table, error) {
	if at >= t.size {
		return nil, io.ErrUnexpectedEOF
	}
	return &table{m: t.m, at: t.at + at, size: t.size - at}, nil
}

// bytes returns n bytes, at most a window. They are valid until the next call.
func (t *table) bytes(at, n uint64) ([]byte, error) {
	if at > t.size || n > t.size-at {
		return nil, io.ErrUnexpectedEOF
	}
	if at < t.from || at+n > t.from+uint64(len(t.buf)) {
		want := min(windowSize, t.size-at)
		if uint64(cap(t.buf)) < want {
			t.buf = make([]byte, want)
		}
		t.from, t.buf = at, t.buf[:want]
		if _, err := t.m.ReadAt(t.buf, int64(t.at+at)); err != nil {
			t.buf = t.buf[:0]
			return nil, err
		}
	}
	i := at - t.from
	return t.buf[i : i+n], nil
}

func (m *image) sites(r release) (sites, error) {
	entry, end, err := m.function(r, startTheWorld)
	if err != nil {
		return sites{}, err
	}
	if end <= entry || end-entry > maxCode {
		return sites{}, fmt.Errorf("its code is from %#x to %#x, want at most %d bytes", entry, end, maxCode)
	}
	code, err := m.read(entry, end-entry, elf.PF_X)
	if err != nil {
		return sites{}, err
	}
	push, returns, err := instructions(code)
	if err != nil {
		return sites{}, err
	}
	at, err := m.offset(entry, end-entry, elf.PF_X)
	if err != nil {
		return sites{}, err
	}
	s := sites{push: at + uint64(push), first: at, entry: entry}
	for _, i := range returns {
		s.returns = append(s.returns, at+uint64(i))
	}
	return s, nil
}

// The head of pclntab since Go 1.20 (runtime/symtab.go, pcHeader). Quantum and the
// size of pointers are those of amd64.
const (
	pclnHead     = 72
	pclnFuncs    = 8
	pclnText     = 24
	pclnNames    = 32
	pclnUnits    = 40 // follows the names
	pclnFunctab  = 64
	moduleText   = 176 // of moduledata (runtime/symtab.go)
	functabEntry = 8
)

var pclnMagic = []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}

// function returns where the code of a function begins, and where the next one does.
func (m *image) function(r release, name string) (entry, end uint64, err error) {
	tab, address, err := m.pclntab()
	if err != nil {
		return 0, 0, err
	}
	head, err := tab.bytes(0, pclnHead)
	if err != nil {
		return 0, 0, err
	}
	if !bytes.HasPrefix(head, pclnMagic) {
		return 0, 0, fmt.Errorf("its .gopclntab begins with % x, want % x", head[:len(pclnMagic)], pclnMagic)
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(head[at:]) }
	n, from, to, functab := word(pclnFuncs), word(pclnNames), word(pclnUnits), word(pclnFunctab)
	if n == 0 || n > maxFuncs || from >= to || to > tab.size || to-from > maxNames {
		return 0, 0, errors.New("its .gopclntab is larger than it may be")
	}
	text, err := m.text(r, address)
	if err != nil {
		return 0, 0, err
	}
	id, err := nameOffset(&table{m: m, at: tab.at + from, size: to - from}, name)
	if err != nil {
		return 0, 0, err
	}
	funcs, err := tab.sub(functab)
	if err != nil {
		return 0, 0, err
	}
	f, err := lookup(funcs, n, id)
	if err != nil {
		return 0, 0, err
	}
	return text + uint64(f.entry), text + uint64(f.end), m.inlined(f)
}

// pclntab returns the table of functions, and its address. The external linker puts
// that of a position-independent program into .data.rel.ro up to Go 1.25, without a name.
func (m *image) pclntab() (*table, uint64, error) {
	if s := m.section(".gopclntab", ".data.rel.ro.gopclntab"); s != nil {
		t, err := m.part(s.Addr, s.Size)
		return t, s.Addr, err
	}
	s := m.section(".data.rel.ro")
	if s == nil {
		return nil, 0, errNoTable
	}
	t, err := m.part(s.Addr, s.Size)
	if err != nil {
		return nil, 0, err
	}
	const step = 8 // its alignment, at least
	for at := uint64(0); at+pclnHead <= s.Size; at += step {
		b, err := t.bytes(at, step)
		if err != nil {
			return nil, 0, err
		}
		if bytes.Equal(b, pclnMagic) {
			t, err = t.sub(at)
			return t, s.Addr + at, err
		}
	}
	return nil, 0, errNoTable
}

func (m *image) section(names ...string) *elf.Section {
	for _, name := range names {
		if s := m.file.Section(name); s != nil && s.Type == elf.SHT_PROGBITS {
			return s
		}
	}
	return nil
}

// text returns the address that those of functions count from. With external linking
// it is not that of the section .text, which C's own start comes before.
func (m *image) text(r release, pclntab uint64) (uint64, error) {
	at := pclntab + pclnText
	if r.module {
		s := m.section(".go.module")
		if s == nil {
			return 0, errors.New("there is no section .go.module")
		}
		at = s.Addr + moduleText
	}
	b, err := m.read(at, 8, 0)
	if err != nil {
		return 0, err
	}
	text := binary.LittleEndian.Uint64(b)
	if m.file.Type != elf.ET_DYN {
		return text, nil
	}
	return m.relocated(at, text)
}

// relocated returns what the loader writes at an address, less where it loads the
// program: the addend of a relocation, or what the file has.
func (m *image) relocated(at, value uint64) (uint64, error) {
	const size = 24 // of a relocation with its addend (elf.Rela64)
	s := m.file.Section(".rela.dyn")
	if s == nil || s.Entsize != size {
		return value, nil
	}
	if s.Size > maxRelocations*size {
		return 0, fmt.Errorf("it has %d relocations, want at most %d", s.Size/size, maxRelocations)
	}
	relocations, err := m.part(s.Addr, s.Size)
	if err != nil {
		return 0, err
	}
	for i := uint64(0); i+size <= s.Size; i += size {
		b, err := relocations.bytes(i, size)
		if err != nil {
			return 0, err
		}
		if binary.LittleEndian.Uint64(b) == at && elf.R_X86_64(binary.LittleEndian.Uint32(b[8:])) == elf.R_X86_64_RELATIVE {
			return binary.LittleEndian.Uint64(b[16:]), nil
		}
	}
	return value, nil
}

// each calls f with all of t, a window at a time and so much of the one before, until it
// returns true.
func (t *table) each(overlap uint64, f func(at uint64, b []byte) (done bool)) error {
	for at := uint64(0); at < t.size; {
		n := min(windowSize, t.size-at)
		b, err := t.bytes(at, n)
		if err != nil {
			return err
		}
		if f(at, b) || n < windowSize {
			break
		}
		at += n - overlap
	}
	return nil
}

// nameOffset finds a name among names that end with a zero.
func nameOffset(names *table, name string) (id uint32, err error) {
	want := []byte("\x00" + name + "\x00")
	err = names.each(uint64(len(want)), func(at uint64, b []byte) bool {
		i := bytes.Index(b, want)
		if i >= 0 {
			id = uint32(at) + uint32(i) + 1
		}
		return i >= 0
	})
	if err == nil && id == 0 {
		err = errors.New("its .gopclntab has no such function")
	}
	return id, err
}

// function is what pclntab has of one (runtime/runtime2.go, _func).
type function struct {
	entry, end uint32 // of its code, from the text's start; the end is where the next one begins
	name, line []byte // 4 bytes each: what it is called, and where it begins in its source
	id         byte   // of those that are special to the runtime
}

// lookup finds the function with a name among n.
func lookup(funcs *table, n uint64, name uint32) (function, error) {
	const line, id, size = 36, 40, 44
	data := &table{m: funcs.m, at: funcs.at, size: funcs.size}
	for i := range n {
		b, err := funcs.bytes(i*functabEntry, functabEntry+4)
		if err != nil {
			return function{}, err
		}
		entry, at, end := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
		if b, err = data.bytes(uint64(at), size); err != nil {
			return function{}, err
		}
		if binary.LittleEndian.Uint32(b[4:]) != name {
			continue
		}
		if own := binary.LittleEndian.Uint32(b); own != entry {
			return function{}, fmt.Errorf("its .gopclntab has it at %#x and at %#x", entry, own)
		}
		return function{entry, end, bytes.Clone(b[4:8]), bytes.Clone(b[line:id]), b[id]}, nil
	}
	return function{}, errors.New("its .gopclntab has the name, and no such function")
}

var errInlined = errors.New("the compiler has inlined it into some that call it, by a profile (-pgo): their stops would not be seen")

// inlined returns errInlined if the code of a function is in that of another, too: not
// all stops come to it then. There is a record of each such copy (runtime/symtabinl.go,
// inlinedCall) among the data, where depends on the release and on the linker.
func (m *image) inlined(f function) error {
	const name, line, size = 4, 12, 16
	head := append([]byte{f.id, 0, 0, 0}, f.name...)
	has := func(b []byte) bool {
		for at := 0; ; at++ {
			i := bytes.Index(b[at:], f.name)
			if i < 0 {
				return false
			}
			if at += i; at < name || at-name+size > len(b) {
				continue
			}
			if r := b[at-name:]; bytes.HasPrefix(r, head) && bytes.Equal(r[line:size], f.line) {
				return true
			}
		}
	}
	for _, s := range m.file.Sections {
		if s.Type != elf.SHT_PROGBITS || s.Flags&(elf.SHF_ALLOC|elf.SHF_EXECINSTR) != elf.SHF_ALLOC {
			continue
		}
		found := false
		data := &table{m: m, at: s.Offset, size: s.Size}
		err := data.each(size-1, func(_ uint64, b []byte) bool {
			found = has(b)
			return found
		})
		if err != nil {
			return fmt.Errorf("read its data: %w", err)
		}
		if found {
			return errInlined
		}
	}
	return nil
}
