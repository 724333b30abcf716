package board

import "errors"

// ErrStale says that the board is of another boot: its instants mean nothing.
var ErrStale = errors.New("stale board")

// ErrForeign says that the file is no board, is of another version, or belongs
// to somebody whose word about the machine is not to be taken.
var ErrForeign = errors.New("foreign board")

// ErrLocked says that another process writes the board.
var ErrLocked = errors.New("another process writes the board")
