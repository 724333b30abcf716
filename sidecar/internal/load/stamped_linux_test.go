package load

import (
	"net"
	"testing"
	"time"
)

// TestStamped: when bytes came is known, however late they are read.
func TestStamped(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // nobody is waiting
	served := make(chan net.Conn)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
		}
		served <- conn
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other := <-served
	c := connection{conn: conn, socket: newStamped(conn)}
	defer c.close()
	if _, known := c.age(); known {
		t.Error("the age of what never came is known")
	}
	before := time.Now()
	if _, err := other.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	const nap = 20 * time.Millisecond
	time.Sleep(nap)
	text := make([]byte, 8)
	n, err := c.socket.Read(text)
	if err != nil || string(text[:n]) != "hello" {
		t.Fatalf("read %q, %v, want hello", text[:n], err)
	}
	if c.socket.came.IsZero() {
		t.Skip("skipped: the kernel does not stamp what comes to a socket")
	}
	if age, known := c.age(); !known || age < nap {
		t.Errorf("age %v, known: %v, want at least the %v that nobody read", age, known, nap)
	}
	if came := c.socket.came; came.Before(before.Add(-time.Millisecond)) || came.After(after.Add(time.Millisecond)) {
		t.Errorf("came at %v, want from %v to %v", came, before, after)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.socket.Read(text); err == nil || err.Error() != "EOF" {
		t.Errorf("read of a closed connection: %v, want EOF", err)
	}
}
