package gcwatch

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// userHZ is the unit of the times in /proc, the same on every architecture
// that Go supports.
const userHZ = 100

// processAge returns for how long this process has existed, within 10 ms. Both
// files count from the boot, with time asleep, in this time namespace.
func processAge() (time.Duration, bool) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, false
	}
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0, false
	}
	return age(stat, uptime)
}

// age computes the age from field 22 of stat (proc_pid_stat(5)) and the first
// of uptime. The name in stat may hold blanks and parentheses.
func age(stat, uptime []byte) (time.Duration, bool) {
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	up := bytes.Fields(uptime)
	if len(f) < 20 || len(up) < 1 {
		return 0, false
	}
	ticks, err1 := strconv.ParseUint(string(f[19]), 10, 63)
	seconds, err2 := strconv.ParseFloat(string(up[0]), 64)
	d := seconds - float64(ticks)/userHZ
	if err1 != nil || err2 != nil || !(d >= 0 && d < 1e9) {
		return 0, false
	}
	return time.Duration(d * 1e9), true
}
