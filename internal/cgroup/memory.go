package cgroup

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
)

// MemoryLimit returns the tightest limit of memory, in bytes, that the process
// which proc names is under, as far as can be seen from here; 0 for none.
func MemoryLimit(root fs.FS, proc string) (int64, error) {
	groups, err := withController(root, proc, "memory")
	if err != nil {
		return 0, err
	}
	least := int64(0)
	for _, g := range groups {
		n, err := g.memoryLimit(root)
		if err != nil {
			return 0, err
		}
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least, nil
}

func (g Group) memoryLimit(root fs.FS) (int64, error) {
	file := path.Join(g.Dir, "memory.limit_in_bytes")
	if g.V2 {
		file = path.Join(g.Dir, "memory.max")
	}
	text, err := line(root, file)
	if text == "" || text == "max" || err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("parse /%s: %q", file, text)
	}
	return n, nil
}
