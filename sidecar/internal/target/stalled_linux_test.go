package target

import (
	"io"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
)

// flooding asks for more than the smallest buffer holds for long: what the
// collector, the loader, the compiler, exceptions, threads and tasks have to
// say.
func flooding() dotnetipc.Request {
	return dotnetipc.Request{BufferMB: 1, Providers: []dotnetipc.Provider{
		{Name: "Microsoft-Windows-DotNETRuntime", Keywords: 0x1 | 0x8 | 0x10 | 0x8000 | 0x10000, Level: 5},
		{Name: "System.Threading.Tasks.TplEventSource", Keywords: 0x3ff, Level: 5},
	}}
}

// stallReader begins a session and does not read it until the runtime has
// nowhere left to put an event. The process works on meanwhile, and its
// diagnostics server answers others; when the stream is read at last, it ends in
// good order, and says what was dropped.
func stallReader(t *testing.T, server *dotnettest.Server, client *dotnetipc.Client, own int) {
	s, err := client.Collect(t.Context(), flooding())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for range 200 {
		server.List(0)
	}
	if _, err := client.ProcessInfo(t.Context()); err != nil {
		t.Errorf("beside a stalled session: %v", err)
	}
	beside, err := client.Collect(t.Context(), dotnet.Request())
	if err != nil {
		t.Fatalf("another session beside a stalled one: %v", err)
	}
	_ = beside.Close()

	type result struct {
		stats nettrace.Stats
		err   error
	}
	end := make(chan result, 1)
	go func() {
		stats, err := drain(s)
		end <- result{stats, err}
	}()
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stop a session that was stalled: %v", err)
	}
	select {
	case r := <-end:
		// What was lost proves that the buffer was full, and the socket before it.
		if r.err != io.EOF || r.stats.Lost == 0 || r.stats.Events == 0 || r.stats.Untyped != 0 {
			t.Errorf("read at last: got %v, %+v, want the end tag, and events that were lost", r.err, r.stats)
		}
		t.Logf("%+v", r.stats)
	case <-time.After(3 * time.Minute):
		t.Fatal("the stream does not end")
	}
	noLeak(t, server, own)
}

func drain(in io.Reader) (nettrace.Stats, error) {
	r, err := nettrace.NewReader(in, nettrace.Options{})
	if err != nil {
		return nettrace.Stats{}, err
	}
	for {
		if _, err := r.Next(); err != nil {
			return r.Stats(), err
		}
	}
}
