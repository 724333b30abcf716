package board

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// createdField is the number of the field in /proc/PID/stat that tells two
// processes of one PID apart (proc_pid_stat(5), starttime).
const createdField = 22

// processCreated returns the creation time of this process in clock ticks
// since boot, 0 where that cannot be told.
func processCreated() uint64 {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// The name, field 2, may hold spaces and parentheses of its own.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const first = 3
	if len(f) <= createdField-first {
		return 0
	}
	n, _ := strconv.ParseUint(f[createdField-first], 10, 64)
	return n
}
