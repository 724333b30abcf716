package board

import "os"

const (
	pathVariable = "OTELGC_BOARD"
	defaultPath  = "/dev/shm/otelgc/board"
)

// Path returns where the board of this host is: $OTELGC_BOARD, else
// /dev/shm/otelgc/board.
func Path() string {
	if p := os.Getenv(pathVariable); p != "" {
		return p
	}
	return defaultPath
}
