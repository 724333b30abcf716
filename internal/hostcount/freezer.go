package hostcount

import (
	"bytes"
	"io/fs"

	"github.com/otelgc/otelgc/internal/cgroup"
)

// freezer reads whether a cgroup of the process is frozen.
type freezer struct {
	file file
	line []byte // that says so
}

// freezersOf finds those of a process, none where that is not known.
func freezersOf(root fs.FS, proc string) (list []freezer) {
	found, err := cgroup.Freezers(root, proc)
	if err != nil {
		return nil
	}
	for _, f := range found {
		list = append(list, freezer{file{root: root, name: f.File}, []byte(f.Line)})
	}
	return list
}

// freezes reports false of what cannot be read.
func (f *freezer) freezes() bool {
	text, err := f.file.read()
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if bytes.Equal(bytes.TrimSuffix(line, []byte("\n")), f.line) {
			return true
		}
	}
	return false
}
