//go:build !linux

package textfmt

import "io"

// terminal knows no terminals here.
func terminal(io.Writer) int { return 0 }
