//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "rest: the threads of a process are read from /proc, on Linux only")
	os.Exit(1)
}
