package cli

import (
	"flag"
	"io"
	"strings"
	"time"
)

// printFlags prints the flags as they are written, with two dashes.
func printFlags(w io.Writer, set *flag.FlagSet) error {
	var text strings.Builder
	set.SetOutput(&text)
	if f := set.Lookup("cpu"); f != nil {
		f.DefValue = "0" // which is not printed; -1 is none
	}
	set.PrintDefaults()
	_, err := io.WriteString(w, strings.ReplaceAll("\n"+text.String(), "\n  -", "\n  --")[1:])
	return err
}

// wanted says what a flag takes, where package flag says only that it could not
// parse what it got.
func wanted(set *flag.FlagSet, text string) string {
	what, is := strings.CutSuffix(text, ": parse error")
	if !is {
		return text
	}
	f := set.Lookup(what[strings.LastIndex(what, "--")+len("--"):])
	if f == nil {
		return text
	}
	kind, _ := flag.UnquoteUsage(f)
	switch f.Value.(flag.Getter).Get().(type) {
	case time.Duration:
		kind = "a time such as 10s or 1m30s"
	case int, uint:
		kind = "a whole number"
	case float64:
		kind = "a number"
	case bool:
		kind = "true or false"
	}
	return what + ": want " + kind
}
