package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// prefix begins the name of every file of this package.
const prefix = "otelgc-slow-"

// dir has the files of requests that were kept. It has one caller.
type dir struct {
	path  string
	root  *os.Root
	keep  int
	limit int64
	n     int    // of the next name
	kept  []kept // the oldest first
	bytes int64  // of all
}

// kept is a request that has files.
type kept struct {
	name  string // of its files, without their endings
	bytes int64
}

// endings are those of the files of a request, in the order in which they are written.
var endings = [...]string{".trace", ".html", ".json"}

// file is what is to be written to a file, in parts.
type file [][]byte

// maxScanned bounds the entries of a directory that are looked at.
const maxScanned = 1 << 14

// openDir makes the directory if it is not there, and finds what an earlier run has kept.
// It writes a file as it will later, so that a directory that cannot be written is told at
// once.
func openDir(o Options) (*dir, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err // of package os, which names the path
	}
	path, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	d := &dir{path: path, root: root, keep: o.Keep, limit: o.Bytes}
	if err := errors.Join(d.try(), d.scan()); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *dir) close() { _ = d.root.Close() } // a directory

// try writes a file and removes it.
func (d *dir) try() error {
	name := d.name(time.Now())
	if _, err := d.write(name, file{[]byte("\n")}); err != nil {
		return err
	}
	d.remove(0)
	return nil
}

// scan finds the files of earlier runs.
func (d *dir) scan() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	entries, err := f.ReadDir(maxScanned)
	if len(entries) == 0 {
		return nil // or the error of a file system that does not list: then nothing is found
	}
	if err != nil {
		return err
	}
	found := make(map[string]int64)
	for _, e := range entries {
		name, is := ours(e.Name())
		if !is || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			found[name] += info.Size()
		}
	}
	for name, bytes := range found {
		d.kept = append(d.kept, kept{name, bytes})
		d.bytes += bytes
	}
	slices.SortFunc(d.kept, func(a, b kept) int { return cmp.Compare(a.name, b.name) }) // by time
	d.trim(0, 0)
	return nil
}

// ours returns the name of a request's files, if an entry is one of them.
func ours(entry string) (name string, is bool) {
	ending := filepath.Ext(entry)
	return strings.TrimSuffix(entry, ending), strings.HasPrefix(entry, prefix) && slices.Contains(endings[:], ending)
}

// name returns a name for the files of a request that began at a time, which none has yet.
// Names sort by that time.
func (d *dir) name(t time.Time) string {
	for {
		d.n++
		name := fmt.Sprintf("%s%s-%d-%d", prefix, t.UTC().Format("20060102T150405.000Z"), os.Getpid(), d.n)
		if _, err := d.root.Lstat(name + endings[0]); err != nil {
			return name // if it is another error, writing has it, too
		}
	}
}

// write writes files of one name, which have the endings in order, and returns the path of
// the page. It makes room for them first. After an error none of them is left.
func (d *dir) write(name string, files ...file) (path string, err error) {
	var bytes int64
	for _, f := range files {
		for _, part := range f {
			bytes += int64(len(part))
		}
	}
	d.trim(1, bytes)
	for i, f := range files {
		if err := d.writeFile(name+endings[i], f); err != nil {
			for _, ending := range endings[:i] {
				_ = d.root.Remove(name + ending) // the error says enough
			}
			return "", err
		}
	}
	d.kept = append(d.kept, kept{name, bytes})
	d.bytes += bytes
	return filepath.Join(d.path, name+".html"), nil
}

func (d *dir) writeFile(name string, parts file) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return d.named(err)
	}
	for _, part := range parts {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = d.root.Remove(name)
		return d.named(err)
	}
	return nil
}

// named returns an error of a file with the whole path of it.
func (d *dir) named(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: p.Op, Path: filepath.Join(d.path, filepath.Base(p.Path)), Err: p.Err}
	}
	return err
}

// trim removes the oldest until there is room for so many more.
func (d *dir) trim(more int, bytes int64) {
	n := 0
	for left, size := len(d.kept), d.bytes; n < len(d.kept) && (left+more > d.keep || size+bytes > d.limit); n++ {
		left, size = left-1, size-d.kept[n].bytes
	}
	for range n {
		d.remove(0)
	}
}

// remove removes the files of one that is kept. One that is gone already is no matter.
func (d *dir) remove(i int) {
	for _, ending := range endings {
		_ = d.root.Remove(d.kept[i].name + ending)
	}
	d.bytes -= d.kept[i].bytes
	d.kept = slices.Delete(d.kept, i, i+1)
}
