package tracefs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// FS is an open tracefs.
type FS struct {
	dir  string
	file *os.File // of a mount of our own, else nil
}

// Point is a tracepoint.
type Point struct {
	Group, Name string
	Number      uint64 // attr.config of perf_event_open(2)
	Fields      []Field
}

// Field is where a field of a tracepoint's own lies in its raw data.
type Field struct {
	Name         string
	Offset, Size int
}

// Field returns where a field of so many bytes is, 0 if there is none: there
// the fields lie that all tracepoints have in common.
func (p *Point) Field(name string, size int) (offset int) {
	for _, f := range p.Fields {
		if f.Name == name && f.Size == size {
			return f.Offset
		}
	}
	return 0
}

// Places where tracefs is mounted, if it is.
var places = []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"}

// Open opens the tracefs that is mounted below root, which is "/" but in tests.
func Open(root string) (*FS, error) {
	for _, p := range places {
		dir := filepath.Join(root, p)
		entries, err := os.ReadDir(filepath.Join(dir, "events"))
		if err == nil && len(entries) > 0 {
			return &FS{dir: dir}, nil
		}
	}
	return mount()
}

// Close closes what Open has mounted.
func (f *FS) Close() error {
	if f.file == nil {
		return nil
	}
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("close tracefs: %w", err)
	}
	return nil
}

// maxPoints bounds how many tracepoints of one group are looked at.
const maxPoints = 256

// Points returns the tracepoints of a group, such as "irq", by name. A group
// that this kernel does not have is empty.
func (f *FS) Points(group string) []Point {
	entries, err := os.ReadDir(filepath.Join(f.dir, "events", group))
	if err != nil {
		return nil
	}
	var points []Point
	for _, e := range entries[:min(len(entries), maxPoints)] {
		if !e.IsDir() {
			continue
		}
		if p, err := f.Point(group, e.Name()); err == nil {
			points = append(points, p)
		}
	}
	return points
}

// Point returns one tracepoint.
func (f *FS) Point(group, name string) (Point, error) {
	p := Point{Group: group, Name: name}
	dir := filepath.Join(f.dir, "events", group, name)
	text, err := os.ReadFile(filepath.Join(dir, "id"))
	if err != nil {
		return p, fmt.Errorf("read tracepoint: %w", err)
	}
	if p.Number, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32); err != nil {
		return p, fmt.Errorf("parse number of tracepoint %s: %w", name, err)
	}
	format, err := os.ReadFile(filepath.Join(dir, "format"))
	if err != nil {
		return p, fmt.Errorf("read tracepoint: %w", err)
	}
	p.Fields = fields(string(format))
	return p, nil
}

// Bounds of what is believed of a format.
const (
	maxFields = 64
	maxOffset = 1 << 12
)

// fields returns the fields that are not common to all tracepoints
// (Documentation/trace/events.rst, "Event formats").
func fields(format string) (list []Field) {
	for line := range strings.Lines(format) {
		decl, rest, ok := strings.Cut(strings.TrimSpace(line), ";")
		words := strings.Fields(decl)
		if !ok || !strings.HasPrefix(decl, "field:") || len(words) < 2 {
			continue
		}
		name, _, _ := strings.Cut(words[len(words)-1], "[")
		if strings.HasPrefix(name, "common_") || len(list) == maxFields {
			continue
		}
		f := Field{Name: name}
		for part := range strings.SplitSeq(rest, ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(part), ":")
			n, err := strconv.Atoi(value)
			switch {
			case err != nil || n < 0 || n > maxOffset:
			case key == "offset":
				f.Offset = n
			case key == "size":
				f.Size = n
			}
		}
		list = append(list, f)
	}
	return list
}
