package queries

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// site is a Collector that runs the configuration in the tree, and who sends to
// it: a service and a sidecar.
type site struct {
	grpc, http, page, self, out string
	collector                   *process
}

// newSite starts the Collector and waits until it is healthy.
func newSite(t *testing.T) *site {
	t.Helper()
	a := addresses(t, 5)
	s := &site{grpc: a[0], http: a[1], page: a[2], self: a[3], out: filepath.Join(t.TempDir(), "out")}
	_, port, _ := strings.Cut(s.self, ":")
	s.collector = start(t, []string{
		"OTELGC_COLLECTOR_GRPC=" + s.grpc, "OTELGC_COLLECTOR_HTTP=" + s.http, "OTELGC_COLLECTOR_PROMETHEUS=" + s.page,
		"OTELGC_COLLECTOR_HEALTH=" + a[4], "OTELGC_COLLECTOR_SELF_PORT=" + port, "OTELGC_OUT=" + s.out,
	}, build(t, "../..", "./otelcol-otelgc"), "--config", "../../config.yaml",
		// Sums often, so that the test need not wait long.
		"--config", "yaml:connectors::stall::metrics_interval: 1s")
	eventually(t, "health of the Collector", func() error { _, err := get("http://" + a[4] + "/"); return err }, s.collector)
	return s
}

func (s *site) env(service, board string) []string {
	return []string{
		"OTEL_SERVICE_NAME=" + service, "OTEL_EXPORTER_OTLP_ENDPOINT=http://" + s.grpc, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"OTEL_METRIC_EXPORT_INTERVAL=1000", "OTEL_BLRP_SCHEDULE_DELAY=200", "OTEL_BSP_SCHEDULE_DELAY=200",
		"OTELGC_BOARD=" + board, "GOGC=100",
	}
}

// shop starts the service of the end-to-end test.
func (s *site) shop(t *testing.T, requests int, board string) *process {
	t.Helper()
	return start(t, s.env("shop", board), build(t, "../..", "./internal/e2e/shop"),
		"-answers", filepath.Join(t.TempDir(), "answers.jsonl"), "-requests", fmt.Sprint(requests))
}

func (s *site) sidecar(t *testing.T, board string) *process {
	t.Helper()
	return start(t, s.env("sidecar", board), build(t, "../../..", "./sidecar"), "run", "--board", board, "--mode", "periodic")
}

var client = &http.Client{Timeout: time.Minute}

func get(url string) (string, error) {
	r, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("get %s: status %s: %s", url, r.Status, body)
	}
	return string(body), err
}
