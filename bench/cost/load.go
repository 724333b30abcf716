package cost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelgc/otelgc/bench/service/shop"
)

// caller sends an order and waits for its answer.
type caller interface {
	Order() error
	Close() error
}

// load sends orders to one service, in slots between which it gets none.
type load struct {
	callers []caller
	took    [][]float64 // by caller: how long each answer took, in us
}

// connect adds a caller. Those of HTTP have a connection each; those of gRPC share one, as
// clients of gRPC do.
func (l *load) connect(shape, addr string) error {
	var c caller
	var err error
	switch {
	case shape != "grpc":
		c, err = shop.Dial(addr)
	case len(l.callers) == 0:
		c, err = dialGRPC(addr)
	default:
		c = sharedConn{l.callers[0].(grpcConn)}
	}
	if err != nil {
		return err
	}
	l.callers, l.took = append(l.callers, c), append(l.took, nil)
	return nil
}

func (l *load) close() (err error) {
	for _, c := range l.callers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// slot sends requests for d, evenly, so many per second in all, or as many as are answered
// if rate is 0, the first after a part of the time between two. It returns for how long,
// when all are answered.
//
// A request that is due while its connection still waits for an answer counts from when it
// was due: a service that stands still is charged for all whom it keeps waiting.
func (l *load) slot(d time.Duration, rate, phase float64) (time.Duration, error) {
	begin := time.Now()
	errs := make([]error, len(l.callers))
	var wg sync.WaitGroup
	for i, c := range l.callers {
		wg.Go(func() { errs[i] = l.send(i, c, begin, d, rate, phase) })
	}
	wg.Wait()
	return time.Since(begin), errors.Join(errs...)
}

func (l *load) send(i int, c caller, begin time.Time, d time.Duration, rate, phase float64) error {
	for k := 0; ; k++ {
		from := time.Now()
		if rate > 0 {
			due := begin.Add(time.Duration((phase + float64(i+k*len(l.callers))) * float64(time.Second) / rate))
			if due.Sub(begin) >= d {
				return nil
			}
			if wait := due.Sub(from); wait > 0 {
				time.Sleep(wait)
				from = time.Now()
			} else {
				from = due
			}
		} else if from.Sub(begin) >= d {
			return nil
		}
		if err := c.Order(); err != nil {
			return err
		}
		l.took[i] = append(l.took[i], 1e6*time.Since(from).Seconds())
	}
}

// take returns how long the answers took since the last call.
func (l *load) take() (all []float64) {
	for i, took := range l.took {
		all = append(all, took...)
		l.took[i] = took[:0]
	}
	return all
}

// grpcConn is a client of the gRPC service.
type grpcConn struct{ *grpc.ClientConn }

// sharedConn is one that another closes.
type sharedConn struct{ grpcConn }

func (sharedConn) Close() error { return nil }

func dialGRPC(addr string) (grpcConn, error) {
	c, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	return grpcConn{c}, err
}

func (c grpcConn) Order() error {
	var answer []byte
	if err := c.Invoke(context.Background(), "/shop.Orders/Place", shop.Body, &answer); err != nil {
		return fmt.Errorf("place order: %w", err)
	}
	return nil
}

// raw is the codec of messages that are bytes already.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (raw) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = b
	return nil
}

func (raw) Name() string { return "json" }
