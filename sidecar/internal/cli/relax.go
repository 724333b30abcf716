package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
)

// timerSlack is how late the kernel may wake a thread whose sleep is over, in
// place of 50 us (PR_SET_TIMERSLACK, prctl(2)).
const timerSlack = time.Millisecond

// relax makes the threads of a sidecar patient whose probe spins: none of them
// has to wake in time. While one works, the monitor of the Go runtime sleeps for
// 20 us again and again, and interrupts it each time: that was most of the
// wake-ups of a sidecar at rest, and a third of its CPU time.
func (s *sidecar) relax(m jitterprobe.Mode) {
	if m == jitterprobe.Spin && len(s.beside) == 0 {
		setTimerSlack("/proc", timerSlack)
	}
}

// setTimerSlack sets the timer slack of all threads of this process, which those
// to come inherit. It takes Linux and CAP_SYS_NICE: elsewhere nothing changes.
func setTimerSlack(proc string, d time.Duration) {
	threads, err := os.ReadDir(filepath.Join(proc, "self/task"))
	if err != nil {
		return
	}
	text := strconv.AppendInt(nil, int64(d), 10)
	for _, t := range threads {
		f, err := os.OpenFile(filepath.Join(proc, t.Name(), "timerslack_ns"), os.O_WRONLY, 0)
		if err != nil {
			continue // the thread has ended, or the kernel is older than 4.6
		}
		_, _ = f.Write(text) // it is refused without the right to
		_ = f.Close()        // and written at once
	}
}
