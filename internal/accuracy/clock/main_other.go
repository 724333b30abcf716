//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "clock: the kernel stamps interrupts on Linux only")
	os.Exit(1)
}
