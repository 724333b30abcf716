package board

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const pathVariable = "OTELGC_BOARD"

// Off is the value of $OTELGC_BOARD that means no board.
const Off = "off"

// Paths returns where the board of this host may be, the better place first:
// $OTELGC_BOARD alone if it is set, and nothing if that is [Off]; else
// /run/otelgc/board, which only root can make, and /dev/shm/otelgc/board.
func Paths() []string {
	switch p := os.Getenv(pathVariable); p {
	case "":
		return []string{"/run/otelgc/board", "/dev/shm/otelgc/board"}
	case Off:
		return nil
	default:
		return []string{p}
	}
}

// cannotBeHad reports whether err says that this user cannot make a board in a
// place, and not that there is something wrong with the place.
func cannotBeHad(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EROFS)
}
