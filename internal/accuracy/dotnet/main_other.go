//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "dotnet: the sidecar attaches to .NET processes on Linux only")
	os.Exit(1)
}
