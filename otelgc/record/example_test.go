package record_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/record"
)

func Example() {
	m, err := otelgc.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = m.Shutdown(context.Background()) }()

	path := filepath.Join(os.TempDir(), fmt.Sprintf("orders-%d.rec", os.Getpid()))
	r, err := record.Start(m, path, record.Options{Workload: "orders, 2,000 requests/s"})
	if err != nil {
		fmt.Println(err)
		return
	}
	// serve, for longer than the warm-up that the report discards

	fmt.Println(errors.Join(r.Close(), os.Remove(path)))
	// otelgc-sidecar report --kinds background orders.rec

	// Output: <nil>
}
