// Command site writes the documentation as pages of HTML: README.md, the pages that it
// leads to, and their pictures.
//
//	go run ./site -o DIR
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "../.cache/site", "write the pages to `DIR`")
	flag.Parse()
	if err := run("..", *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	s, err := read(root)
	if err != nil {
		return err
	}
	return s.write(out)
}
