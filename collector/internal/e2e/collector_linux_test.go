package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The files that users run: the tests change nothing in them.
const (
	config     = "../../../collector-config.yaml" // on any distribution
	attributed = "../../config.yaml"              // on ours
)

// site is where one Collector listens and writes. A Collector that is started
// again at the same site takes the place of the one before.
type site struct {
	programs                             binaries
	grpc, http, health, prometheus, self string
	sidecar                              string // of an agent: what comes in here is stamped
	out, storage                         string
	lossy                                bool // its senders give up soon
	stamps                               bool // it is an agent, and a sidecar has a port of its own there
}

func newSite(t *testing.T, out string) *site {
	t.Helper()
	a := freeAddresses(t, 6)
	return &site{programs: programs(t), grpc: a[0], http: a[1], health: a[2], prometheus: a[3], self: a[4], sidecar: a[5], out: out, storage: t.TempDir()}
}

// Ports that Linux hands out to nobody by itself (ip_local_port_range begins at
// 32768), so that no client and no other test takes one between two looks.
const (
	firstPort = 20_000
	lastPort  = 32_000
)

// freeAddresses returns n loopback addresses that nobody listens on, nor another run
// of these tests will, which may be long before a slow program does: of each the UDP
// port is taken until the test ends.
func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	var addrs []string
	for tries := 0; len(addrs) < n; tries++ {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort))
		taken, err := net.ListenPacket("udp", addr)
		if err == nil {
			t.Cleanup(func() { _ = taken.Close() }) // nothing was said on it
			var l net.Listener
			if l, err = net.Listen("tcp", addr); err == nil {
				_ = l.Close() // it is only asked whether it is free
				addrs = append(addrs, addr)
			}
		}
		if err != nil && tries > 1000 {
			t.Fatalf("find free port: %v", err)
		}
	}
	return addrs
}

// collect starts a Collector and waits until it says that it is healthy.
func (s *site) collect(t *testing.T) *process {
	t.Helper()
	return s.collectBy(t, config)
}

// attribute starts a Collector that attributes spans.
func (s *site) attribute(t *testing.T) *process {
	t.Helper()
	return s.collectBy(t, attributed, "OTELGC_WAIT="+long.String())
}

// collectBy runs another configuration, with more of an environment.
func (s *site) collectBy(t *testing.T, config string, env ...string) *process {
	t.Helper()
	return s.healthy(t, start(t, append(s.environment(), env...), s.programs.collector, "--config", config))
}

// environment says to a Collector where its place is.
func (s *site) environment() []string {
	_, selfPort, _ := strings.Cut(s.self, ":")
	return []string{
		"OTELGC_COLLECTOR_GRPC=" + s.grpc,
		"OTELGC_COLLECTOR_HTTP=" + s.http,
		"OTELGC_COLLECTOR_SIDECAR=" + s.sidecar,
		"OTELGC_COLLECTOR_HEALTH=" + s.health,
		"OTELGC_COLLECTOR_PROMETHEUS=" + s.prometheus,
		"OTELGC_COLLECTOR_SELF_PORT=" + selfPort,
		"OTELGC_OUT=" + s.out,
		"OTELGC_STORAGE=" + s.storage,
	}
}

// healthy waits until the Collector says that it is.
func (s *site) healthy(t *testing.T, p *process) *process {
	t.Helper()
	eventually(t, "health of the Collector", func() error {
		_, err := get("http://" + s.health + "/")
		return err
	}, p)
	return p
}

// scrape returns the page that Prometheus would read.
func (s *site) scrape() (string, error) { return get("http://" + s.prometheus + "/metrics") }

// client does not keep connections: a killed server would leave dead ones.
var client = &http.Client{
	Timeout:   time.Minute,
	Transport: &http.Transport{DisableKeepAlives: true},
}

func get(url string) (string, error) { return getBy(client, url) }

func getBy(c *http.Client, url string) (string, error) {
	r, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("get %s: status %s", url, r.Status)
	}
	return string(body), err
}
