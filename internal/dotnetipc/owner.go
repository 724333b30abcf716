package dotnetipc

import (
	"bytes"
	"fmt"
	"strconv"
)

// UID returns the real user id of pid: whoever began it.
func (p Proc) UID(pid int) (int, error) {
	status, err := p.read(pid, "status", maxProcFile)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		value, ok := bytes.CutPrefix(line, []byte("Uid:"))
		if f := bytes.Fields(value); ok && len(f) > 0 {
			return strconv.Atoi(string(f[0]))
		}
	}
	return 0, fmt.Errorf("read %s: no Uid", p.path(pid, "status"))
}
