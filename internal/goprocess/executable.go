package goprocess

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

// built reads what an executable was built with.
func built(exe io.ReaderAt) (*Process, error) {
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
	var head [64]byte
	n, err := r.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read its head: %w", err)
	}
	if n < elf.EI_NIDENT || string(head[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return errors.New("no ELF file")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	wide := elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS64
	var h elf.Header64
	if wide {
		_, _ = binary.Decode(head[:], order, &h) // it is as long as that
	} else {
		var narrow elf.Header32
		_, _ = binary.Decode(head[:], order, &narrow) // and this is shorter
		h.Shoff, h.Shentsize, h.Shnum, h.Shstrndx = uint64(narrow.Shoff), narrow.Shentsize, narrow.Shnum, narrow.Shstrndx
	}
	if h.Shoff != 0 && h.Shnum == 0 || h.Shnum > maxSections {
		return fmt.Errorf("more than %d sections", maxSections)
	}
	if h.Shstrndx == 0 || h.Shstrndx >= h.Shnum {
		return nil // there are no names, or elf refuses them
	}
	packed, err := compressed(r, int64(h.Shoff)+int64(h.Shstrndx)*int64(h.Shentsize), order, wide)
	if err == nil && packed {
		err = errors.New("the names of its sections are compressed")
	}
	return err
}

// compressed reports whether the section is whose header is at an offset.
func compressed(r io.ReaderAt, at int64, order binary.ByteOrder, wide bool) (bool, error) {
	var head [64]byte
	size := 40 // of an elf.Section32
	if wide {
		size = 64
	}
	if n, err := r.ReadAt(head[:size], at); n < size {
		return false, fmt.Errorf("read the names of its sections: %w", err)
	}
	const flags = 8 // the offset of the flags, in both
	if wide {
		return order.Uint64(head[flags:])&uint64(elf.SHF_COMPRESSED) != 0, nil
	}
	return order.Uint32(head[flags:])&uint32(elf.SHF_COMPRESSED) != 0, nil
}
