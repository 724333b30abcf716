// Package board is the file through which the machine's gaps, that one probe
// saw, reach every process of the host.
//
// One [Writer] holds it, any number of [Reader]s read it with pread(2): a
// mapped file that is truncated would kill its readers with SIGBUS. All
// numbers are little endian, all instants of CLOCK_MONOTONIC in the initial
// time namespace, of the boot that the header names.
//
//	offset  size  what
//	0       256   header: magic, version, sizes, boot id, writer, probe
//	512      64   how far: records written, watermark, drops
//	4096    64*n  the ring of n records, record i at slot i mod n
//
// Each of the three kinds of block ends in its own checksum, and each record
// holds its number. A reader that meets a block in the middle of being written
// sees it by the checksum, and one that was overtaken by the ring sees it by
// the number: it reads the block again, or counts the record as lost.
//
// A record is a stall of the machine. One of no cause, source target and scope
// target is not: it says that a process was watched, see [Watched].
//
// A writer never changes the first block. A new writer makes a new file and
// moves it over the old one; readers see another inode and follow.
package board

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrStale says that the board is of another boot: its instants mean nothing.
var ErrStale = errors.New("stale board")

// ErrForeign says that the file is no board, is of another version, or belongs
// to a user that is not believed about the machine.
var ErrForeign = errors.New("foreign board")

// ErrLocked says that another process writes the board.
var ErrLocked = errors.New("another process writes the board")

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
