package textfmt

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// terminal returns how wide the terminal is that w writes to, zero if it is none.
func terminal(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
