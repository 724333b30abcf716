package page_test

import (
	"context"
	"log"
	"net/http"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/page"
)

// A service with the page beside its profiles, on a port that is not for its users.
func ExampleHandler() {
	m, err := otelgc.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	debug := http.NewServeMux()
	debug.Handle("/debug/otelgc/", page.Handler(m))
	go func() { log.Print(http.ListenAndServe("127.0.0.1:6060", debug)) }()
	log.Print(http.ListenAndServe(":8080", m.Middleware(http.DefaultServeMux)))
}
