package noleak

import (
	"testing"
	"time"
)

func TestFind(t *testing.T) {
	end := make(chan struct{})
	go func() { <-end }()
	if err := find(0); err == nil {
		t.Error("a goroutine that waits is not found")
	}
	time.AfterFunc(600*time.Millisecond, func() { close(end) }) // later than goleak looks
	if err := find(patience); err != nil {
		t.Errorf("a goroutine that ends is found: %v", err)
	}
}
