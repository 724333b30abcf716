package gouprobe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/goprogram"
)

// patched is a file of which some bytes are others.
type patched struct {
	io.ReaderAt
	at   int64
	with []byte
}

func (p *patched) ReadAt(b []byte, at int64) (int, error) {
	n, err := p.ReaderAt.ReadAt(b, at)
	if from, to := max(at, p.at), min(at+int64(n), p.at+int64(len(p.with))); from < to {
		copy(b[from-at:to-at], p.with[from-p.at:to-p.at])
	}
	return n, err
}

// own opens the executable of the test, which is one that has the function, and returns
// where its parts begin in the file.
func own(t testing.TB) (exe *os.File, parts []int64) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("this is no executable for Linux on amd64")
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exe.Close() }) // it was only read
	f, err := goprogram.Headers(exe)
	if err != nil {
		t.Fatal(err)
	}
	m := &image{file: f, exe: exe, left: maxLookup}
	s, err := m.sites(releases["go1.26"])
	if err != nil {
		t.Fatal(err)
	}
	var head elf.Header64
	if err := binary.Read(io.NewSectionReader(exe, 0, 64), binary.LittleEndian, &head); err != nil {
		t.Fatal(err)
	}
	pcln := m.section(".gopclntab", ".data.rel.ro.gopclntab")
	word := make([]byte, 8)
	if _, err := exe.ReadAt(word, int64(pcln.Offset+pclnFunctab)); err != nil {
		t.Fatal(err)
	}
	functab := pcln.Offset + binary.LittleEndian.Uint64(word)
	return exe, []int64{
		0, int64(head.Phoff), int64(head.Shoff), int64(pcln.Offset), int64(functab),
		int64(m.section(".go.module").Offset), int64(s.first), int64(s.returns[0]) - 8,
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// most is what a lookup may allocate: package elf reads by pieces of 10 MB.
const most = 64 << 20

// verify checks what is promised of sites that were found: there are the instructions.
func verify(t *testing.T, exe io.ReaderAt, s sites) {
	t.Helper()
	b := make([]byte, 4)
	if _, err := exe.ReadAt(b, int64(s.push)); err != nil || !bytes.Equal(b, []byte{0x55, 0x48, 0x89, 0xe5}) {
		t.Errorf("at %#x: got % x, %v, want PUSHQ BP", s.push, b, err)
	}
	if len(s.returns) == 0 {
		t.Error("no RET")
	}
	for _, at := range s.returns {
		if _, err := exe.ReadAt(b[:1], int64(at)); err != nil || b[0] != 0xc3 {
			t.Errorf("at %#x: got % x, %v, want RET", at, b[:1], err)
		}
	}
}

func TestHostileExecutables(t *testing.T) {
	exe, parts := own(t)
	const head, phdrs, shdrs, pcln, functab, module, code = 0, 1, 2, 3, 4, 5, 6
	all := bytes.Repeat([]byte{0xff}, 8)
	for name, p := range map[string]struct {
		part int
		at   int64
		with []byte
	}{
		"another machine":       {head, 18, []byte{183, 0}},
		"32 bits":               {head, 4, []byte{1}},
		"no segments":           {head, 56, []byte{0, 0}},
		"too many sections":     {head, 60, []byte{0xff, 0xff}},
		"no magic":              {pcln, 0, []byte{0xfb}},
		"functions without end": {pcln, pclnFuncs, all},
		"names elsewhere":       {pcln, pclnNames, all},
		"names without end":     {pcln, pclnUnits, all},
		"functions elsewhere":   {pcln, pclnFunctab, all},
		"functions scattered":   {functab, 0, bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 20_000)},
		"text elsewhere":        {module, moduleText, all},
		"text a byte later":     {module, moduleText, []byte{1}},
		"another function":      {module, moduleText, []byte{0x40}},
		"a breakpoint":          {code, 10, []byte{0xcc}},
		"other code":            {code, 0, bytes.Repeat([]byte{0x90}, 600)},
	} {
		t.Run(name, func(t *testing.T) {
			var s sites
			var err error
			n := allocated(func() { s, err = find(&patched{exe, parts[p.part] + p.at, p.with}, releases["go1.26"]) })
			if err == nil {
				t.Errorf("got %+v, want an error", s)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is more than a line", err)
			}
			if n > most {
				t.Errorf("%d bytes were allocated for it, want at most %d", n, most)
			}
		})
	}
	s, err := find(exe, releases["go1.26"])
	if err != nil {
		t.Fatal(err)
	}
	verify(t, exe, s)
}

// FuzzFind changes bytes of a real executable, at one of the places that the lookup
// goes by.
func FuzzFind(f *testing.F) {
	exe, parts := own(f)
	f.Add(uint8(0), uint16(0), []byte{})
	f.Add(uint8(3), uint16(pclnFuncs), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add(uint8(3), uint16(pclnFunctab), []byte{0, 0, 1})
	f.Add(uint8(4), uint16(0), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add(uint8(5), uint16(moduleText), []byte{0, 0, 0x50})
	f.Add(uint8(6), uint16(10), []byte{0xcc})
	f.Add(uint8(7), uint16(0), []byte{0x90, 0x90})
	f.Fuzz(func(t *testing.T, part uint8, at uint16, with []byte) {
		changed := &patched{exe, parts[int(part)%len(parts)] + int64(at), with}
		for _, r := range []release{releases["go1.26"], releases["go1.25"]} {
			if s, err := find(changed, r); err == nil {
				verify(t, changed, s)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is more than a line", err)
			}
		}
	})
}
