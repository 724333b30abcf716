package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

type options struct {
	rounds int           // of the comparison
	round  time.Duration // length of each
	soak   time.Duration
	rate   int // spans a second of the soak
	limit  int // max_bytes of the soak
	page   string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "pairs of rounds of the comparison")
	flag.DurationVar(&o.round, "round", 3*time.Second, "length of each round")
	flag.DurationVar(&o.soak, "for", 10*time.Minute, "length of the soak")
	flag.IntVar(&o.rate, "rate", 20_000, "spans a second of the soak")
	flag.IntVar(&o.limit, "limit", 128<<20, "max_bytes of the soak")
	flag.StringVar(&o.page, "o", "", "file of the page, standard output if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		stop()
		os.Exit(1)
	}
}

// run measures and writes the page, also where the result is not what it has to
// be; progress goes to log.
func (o *options) run(ctx context.Context, log io.Writer) error {
	compared, err := o.compare(ctx, log)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	soaked, err := o.soakFor(ctx, log)
	if err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	text := page(o, compared, soaked)
	if o.page == "" {
		_, err = io.WriteString(os.Stdout, text)
	} else {
		err = os.WriteFile(o.page, []byte(text), 0o644)
	}
	return errors.Join(err, soaked.verdict(o))
}
