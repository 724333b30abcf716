package main

import (
	"sync"
	"testing"
	"time"
)

// onlookerNap is how long an onlooker sleeps, and onlookerLate from when on it was
// not a program beside it that made it late: the scheduler prefers who sleeps.
const (
	onlookerNap  = time.Millisecond
	onlookerLate = 20 * time.Millisecond
)

// standstill is the share of the time from which on what an onlooker stood still is
// of weight for a program beside it.
const standstill = 0.1

// onlooker does nothing beside a program. What holds up both is no doing of the
// program's: a quota on their cgroup, or somebody who has the machine. It stands
// still then, as the program does.
type onlooker struct {
	began      time.Time
	late       time.Duration // to be read when done is closed
	quit, done chan struct{}
}

// onlook begins to, and returns what ends it and says for which share of the time
// it stood still.
func onlook(t *testing.T) (stood func() float64) {
	t.Helper()
	o := &onlooker{began: time.Now(), quit: make(chan struct{}), done: make(chan struct{})}
	go o.run()
	end := sync.OnceFunc(func() {
		close(o.quit)
		<-o.done
	})
	t.Cleanup(end)
	return func() float64 {
		end()
		share := o.late.Seconds() / time.Since(o.began).Seconds()
		t.Logf("who only looked on stood still for %.1f %% of the time", 100*share)
		return share
	}
}

func (o *onlooker) run() {
	defer close(o.done)
	for last := o.began; ; {
		select {
		case <-o.quit:
			return
		case <-time.After(onlookerNap):
		}
		now := time.Now()
		if d := now.Sub(last); d > onlookerLate {
			o.late += d
		}
		last = now
	}
}
