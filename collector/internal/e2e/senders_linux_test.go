package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
)

// senderEnv makes senders speak often, so that the test need not wait long. They
// lose nothing to a machine, or a disk, that stands still for seconds: an agent says
// yes to an export when it is on disk, and until then they wait for minutes. Those of
// a lossy site give up on a dead Collector soon, so that losses are losses.
func (s *site) senderEnv(service, protocol, board string) []string {
	endpoint := s.grpc
	if protocol != "grpc" {
		endpoint = s.http
	}
	env := []string{
		"OTEL_SERVICE_NAME=" + service,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + endpoint,
		"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
		"OTEL_METRIC_EXPORT_INTERVAL=1000",
		"OTEL_BLRP_SCHEDULE_DELAY=200",
		"OTEL_BSP_SCHEDULE_DELAY=200",
		"OTELGC_BOARD=" + board,
		// Many collections, with little to do.
		"GOGC=10",
	}
	if s.lossy {
		return append(env, "OTEL_EXPORTER_OTLP_TIMEOUT=1000")
	}
	minutes := fmt.Sprint(export.Milliseconds())
	return append(env,
		"OTEL_EXPORTER_OTLP_TIMEOUT="+minutes, "OTEL_METRIC_EXPORT_TIMEOUT="+minutes,
		"OTEL_BLRP_EXPORT_TIMEOUT="+minutes, "OTEL_BSP_EXPORT_TIMEOUT="+minutes)
}

// export is how long one export may take where nothing may be lost: no machine is as
// slow, and the test waits longer for what is exported.
const export = patience * 3 / 5

// sidecarEnv is that of a sidecar, which has a port of its own at an agent.
func (s *site) sidecarEnv(protocol, board string) []string {
	env := s.senderEnv("e2e-sidecar", protocol, board)
	if s.stamps {
		env = append(env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+s.sidecar)
	}
	return env
}

// watch starts a sidecar that exports to the site.
func (s *site) watch(t *testing.T, protocol, board string, args ...string) *process {
	t.Helper()
	return start(t, s.sidecarEnv(protocol, board), s.programs.sidecar,
		append([]string{"run", "--board", board}, args...)...)
}

var listening = regexp.MustCompile(`listening on (\S+)`)

// serve starts a service and keeps requests coming until the test ends or quit
// is called. It returns the service and its URL.
func (s *site) serve(t *testing.T, binary, protocol, board string) (p *process, url string, quit func()) {
	t.Helper()
	p = start(t, s.senderEnv("e2e-"+filepath.Base(binary), protocol, board), binary, "-addr", "127.0.0.1:0")
	eventually(t, "address of the service", func() error {
		m := listening.FindStringSubmatch(p.output())
		if m == nil {
			return errors.New("it has not said where it listens")
		}
		url = "http://" + m[1] + "/?kb=1024"
		return nil
	}, p)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = get(url) // whether it answers is asked elsewhere
			}
		}
	}()
	quit = sync.OnceFunc(func() { close(stop); <-done })
	t.Cleanup(quit)
	return p, url, quit
}
