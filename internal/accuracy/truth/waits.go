package main

import (
	"net"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// The waits return from when the request waited to when it was ready, as those
// know who made it so.

func (b *bench) sleep(d time.Duration) stall.Span {
	from := b.now()
	time.Sleep(d)
	return stall.Span{Start: from, End: from.Add(d)}
}

func (b *bench) receive(d time.Duration) stall.Span {
	sent := make(chan stall.Instant)
	go func() {
		time.Sleep(d)
		sent <- b.now()
	}()
	from := b.now()
	return stall.Span{Start: from, End: <-sent}
}

func (b *bench) ask(d time.Duration) stall.Span {
	one := []byte{1}
	here, there, err := b.pair()
	if err != nil {
		return stall.Span{}
	}
	defer func() { _ = here.Close() }()
	sent := make(chan stall.Instant, 1)
	go func() {
		time.Sleep(d)
		sent <- b.now()
		_, _ = there.Write([]byte{1})
		_ = there.Close()
	}()
	from := b.now()
	_, _ = here.Read(one)
	return stall.Span{Start: from, End: <-sent}
}

// pair returns the two ends of a connection.
func (b *bench) pair() (here, there net.Conn, err error) {
	b.pairing.Lock()
	defer b.pairing.Unlock()
	if here, err = net.Dial("tcp", b.listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	there, err = b.listener.Accept()
	return here, there, err
}
