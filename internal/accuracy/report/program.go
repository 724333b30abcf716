package report

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Program is a measurement that is started from a shell: its flags, to which -o
// is added, and one section.
type Program struct {
	Name  string // of the program
	Title string // of the section
	// Flags defines the flags. It may be nil.
	Flags func(*flag.FlagSet)
	// Measure writes what it finds into s, and says on log how far it is. With
	// ErrUnmet what it found is written all the same.
	Measure func(ctx context.Context, s *Section, log io.Writer) error
}

// ErrUnmet says that a figure is not what it has to be.
var ErrUnmet = errors.New("bounds not met")

// Main runs p with the arguments of this process, until it is done or
// interrupted. It exits with 1 if p fails.
func (p Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := p.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		os.Exit(1)
	}
}

// Run runs p, and writes its section to the file that -o names, or to out.
func (p Program) Run(ctx context.Context, args []string, out, log io.Writer) error {
	var o Output
	f := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	f.SetOutput(log)
	o.Flag(f)
	if p.Flags != nil {
		p.Flags(f)
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	s := New(p.Title)
	err := p.Measure(ctx, s, log)
	if err != nil && !errors.Is(err, ErrUnmet) {
		return err
	}
	return errors.Join(err, o.Write(out, s))
}
