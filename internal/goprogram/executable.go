package goprogram

import (
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// maxRead bounds what is read of an executable. The linker puts what is wanted
	// near the beginning of the data.
	maxRead = 4 << 20
	// maxSections bounds the sections of one. The go command makes some forty.
	maxSections = 1 << 12
)

// errTooMuch says that maxRead did not do.
var errTooMuch = fmt.Errorf("nothing of one in the %d bytes that were read", maxRead)

// Headers returns an executable of which the headers were read, and no more than
// maxRead bytes for them. What its sections hold is not to be read through it: their
// sizes are as the file says.
func Headers(exe io.ReaderAt) (*elf.File, error) {
	in := &bounded{exe, maxRead}
	if err := plain(in); err != nil {
		return nil, err
	}
	f, err := elf.NewFile(in)
	if in.left < 0 {
		err = errTooMuch
	}
	return f, err
}

// ReadExecutable reads what an executable was built with. The error is ErrNotGo.
func ReadExecutable(exe io.ReaderAt) (*Program, error) {
	in := &bounded{exe, maxRead}
	if err := plain(in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	info, err := buildinfo.Read(in)
	if in.left < 0 { // which the packages that read it call by other names
		err = errTooMuch
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	return Built(info), nil
}

// bounded is an executable of which only so many bytes may be read.
type bounded struct {
	io.ReaderAt
	left int
}

func (b *bounded) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errTooMuch
	}
	return b.ReaderAt.ReadAt(p, at)
}

// plain refuses what package elf should not get to see: it unpacks the names of
// the sections if they are compressed, and a few bytes can stand for gigabytes.
// No linker compresses them.
func plain(r io.ReaderAt) error {
	var ident [elf.EI_NIDENT]byte
	if _, err := r.ReadAt(ident[:], 0); err != nil || string(ident[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return errors.New("no ELF file")
	}
	wide := elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS64
	read := func(at int64, v any) error {
		var order binary.ByteOrder = binary.LittleEndian
		if elf.Data(ident[elf.EI_DATA]) == elf.ELFDATA2MSB {
			order = binary.BigEndian
		}
		return binary.Read(io.NewSectionReader(r, at, maxRead), order, v)
	}
	var h elf.Header64
	var err error
	if wide {
		err = read(0, &h)
	} else {
		var narrow elf.Header32
		err = read(0, &narrow)
		h.Shoff, h.Shentsize, h.Shnum, h.Shstrndx = uint64(narrow.Shoff), narrow.Shentsize, narrow.Shnum, narrow.Shstrndx
	}
	switch {
	case err != nil:
		return fmt.Errorf("read its head: %w", err)
	case h.Shoff != 0 && h.Shnum == 0 || h.Shnum > maxSections:
		return fmt.Errorf("more than %d sections", maxSections)
	case h.Shstrndx == 0 || h.Shstrndx >= h.Shnum:
		return nil // there are no names, or elf refuses them
	}
	names := int64(h.Shoff) + int64(h.Shstrndx)*int64(h.Shentsize)
	var s elf.Section64
	if wide {
		err = read(names, &s)
	} else {
		var narrow elf.Section32
		err = read(names, &narrow)
		s.Flags = uint64(narrow.Flags)
	}
	switch {
	case err != nil:
		return fmt.Errorf("read the names of its sections: %w", err)
	case s.Flags&uint64(elf.SHF_COMPRESSED) != 0:
		return errors.New("the names of its sections are compressed")
	}
	return nil
}
