package capture_test

import (
	"context"
	"log"
	"net/http"
	"time"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/capture"
)

// A service that keeps its slow requests, one in a minute at most. A directory that cannot
// be written is no reason not to start.
func ExampleStart() {
	m, err := otelgc.Start(otelgc.WithSlowRequest(200*time.Millisecond, nil)) // its events have the paths
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	if err := capture.Start(m, capture.Options{Dir: "/var/lib/shop/slow", AtLeast: 200 * time.Millisecond, Every: time.Minute}); err != nil {
		log.Print(err)
	}
	log.Print(http.ListenAndServe(":8080", m.Middleware(http.DefaultServeMux)))
}
