//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "causes: causes of gaps are decided on Linux only")
	os.Exit(1)
}
