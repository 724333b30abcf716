package goprogram

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
)

// section is one of a made executable.
type section struct {
	elf.Section64
	data []byte
}

// executable makes one of sections, the last of which holds the names of all.
func executable(t testing.TB, sections ...section) []byte {
	t.Helper()
	const head, each = 64, 64
	n := len(sections) + 1 // the first is none
	at := uint64(head + each*n)
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Shoff: head, Ehsize: head, Shentsize: each, Shnum: uint16(n), Shstrndx: uint16(n - 1),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var file, body bytes.Buffer
	add := func(v any) {
		if err := binary.Write(&file, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	add(h)
	add(elf.Section64{})
	for _, s := range sections {
		s.Off, s.Size = at+uint64(body.Len()), uint64(len(s.data))
		body.Write(s.data)
		add(s.Section64)
	}
	file.Write(body.Bytes())
	return file.Bytes()
}

// packed is a section that unpacks to n zeros, and says that they are more.
func packed(t testing.TB, n int) section {
	t.Helper()
	var data bytes.Buffer
	if err := binary.Write(&data, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: 1 << 40, Addralign: 1}); err != nil {
		t.Fatal(err)
	}
	w := zlib.NewWriter(&data)
	for block := make([]byte, 1<<20); n > 0; n -= len(block) {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return section{elf.Section64{Type: uint32(elf.SHT_STRTAB), Flags: uint64(elf.SHF_COMPRESSED)}, data.Bytes()}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// most is what looking at an executable may allocate: package elf reads by pieces
// of 10 MB, and what it takes out of maxRead is larger than that.
const most = 64 << 20

// endless is a file of nothing but zeros behind its beginning.
type endless []byte

func (e endless) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if at < int64(len(e)) {
		copy(p, e[at:])
	}
	return len(p), nil
}

func TestHostileExecutables(t *testing.T) {
	plain := executable(t, section{elf.Section64{Type: uint32(elf.SHT_STRTAB)}, make([]byte, 16)})
	change := func(at int, v uint16) []byte {
		b := bytes.Clone(plain)
		binary.LittleEndian.PutUint16(b[at:], v)
		return b
	}
	const shnum, shstrndx, shentsize, phnum, phentsize = 60, 62, 58, 56, 54
	many := change(phnum, 0xffff)
	binary.LittleEndian.PutUint16(many[phentsize:], 0xffff)
	for name, file := range map[string]io.ReaderAt{
		"nothing":               bytes.NewReader(nil),
		"a script":              bytes.NewReader([]byte("#!/bin/sh\nexec sleep 99\n")),
		"a head only":           bytes.NewReader(plain[:64]),
		"no Go":                 bytes.NewReader(plain),
		"packed names":          bytes.NewReader(executable(t, packed(t, 128<<20))),
		"sections without end":  endless(change(shnum, 0)),
		"too many sections":     endless(change(shnum, 0xffff)),
		"large sections":        endless(change(shentsize, 0xffff)),
		"names elsewhere":       endless(change(shstrndx, 0x1000)),
		"many program headers":  endless(many),
		"zeros without any end": endless(plain),
	} {
		t.Run(name, func(t *testing.T) {
			var p *Program
			var err error
			bytes := allocated(func() { p, err = ReadExecutable(file) })
			if !errors.Is(err, ErrNotGo) {
				t.Errorf("got %+v, %v, want %v", p, err, ErrNotGo)
			}
			if bytes > most {
				t.Errorf("%d bytes were allocated for it, want at most %d", bytes, most)
			}
		})
	}
}

// FuzzBuilt changes the head and some bytes of a real executable.
func FuzzBuilt(f *testing.F) {
	exe, err := os.ReadFile(os.Args[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nil), 0, byte(0))
	f.Add(exe[:64], 58, byte(1))
	f.Fuzz(func(t *testing.T, head []byte, at int, v byte) {
		changed := bytes.Clone(exe)
		copy(changed[:4096], head)
		if at >= 0 && at < len(changed) {
			changed[at] = v
		}
		if p, err := ReadExecutable(bytes.NewReader(changed)); err == nil && p.Version == "" {
			t.Error("a Go program of no version")
		} else if err != nil && !errors.Is(err, ErrNotGo) {
			t.Errorf("got %v, want %v", err, ErrNotGo)
		}
	})
}
