package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/examples/internal/sink"
)

// TestRun: a request is a span with its route.
func TestRun(t *testing.T) {
	debug, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := func(ctx context.Context, l net.Listener) error { return run(ctx, l, debug, 2) }
	call := func(addr string) error {
		for _, path := range []string{"/orders", "/orders/7"} {
			r, err := http.Get("http://" + addr + path)
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
			if r.StatusCode != http.StatusOK {
				return fmt.Errorf("get %s: %s", path, r.Status)
			}
		}
		r, err := http.Get("http://" + debug.Addr().String() + "/debug/pprof/trace?seconds=0.01")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if !strings.HasPrefix(string(text), "go 1.") {
			return fmt.Errorf("no trace: %.100q, %v", text, err)
		}
		return nil
	}
	sink.New(t).Test(t, server, call, "http.route", "GET /orders/{id}")
}

// TestKnowsNothingOfUs: the program imports nothing of otelgc, as a service that is
// watched from outside.
func TestKnowsNothingOfUs(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const itself = "github.com/otelgc/otelgc/examples/go-outside"
	n := 0
	for pkg := range strings.FieldsSeq(string(out)) {
		n++
		if strings.Contains(pkg, "otelgc") && pkg != itself {
			t.Errorf("it imports %s", pkg)
		}
	}
	if n < 100 {
		t.Errorf("%d packages: nothing is proven", n)
	}
}
