package harness

import (
	"context"
	"errors"
	"time"

	"github.com/otelgc/otelgc/otelgc"
)

// Monitored calls f while otelgc watches this program, exactly all the time.
func Monitored(f func(*otelgc.Monitor) error, opts ...otelgc.Option) error {
	m, err := otelgc.Start(append(opts, otelgc.WithExactBudget(1), otelgc.WithBoard(""))...)
	if err != nil {
		return err
	}
	err = f(m)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(err, m.Shutdown(ctx))
}
