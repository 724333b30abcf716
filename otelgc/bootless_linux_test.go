package otelgc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.opentelemetry.io/otel"
)

// TestStartWithoutBootID: where /proc/sys is not there, as in a service of systemd with
// ProcSubset=pid, nothing can be joined with what the process tells outside of it. It
// is watched nevertheless, and its operator is told.
func TestStartWithoutBootID(t *testing.T) {
	const ask = "OTELGC_TEST_BOOTLESS"
	if os.Getenv(ask) != "" {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Println("told:", err) }))
		m, err := Start(WithBoard(""), WithExactBudget(0))
		fmt.Println("start:", err)
		w := m.Begin(t.Context())
		w.End()
		fmt.Println("shutdown:", m.Shutdown(context.Background()))
		return
	}
	// Under an emulator the shell would take this program for a script.
	if err := exec.Command(os.Args[0], "-test.run=^$").Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this program: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	const hide = `mount -t tmpfs none /proc/sys/kernel/random && exec "$0" "$@"`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", hide, os.Args[0], "-test.run=^TestStartWithoutBootID$", "-test.v")
	cmd.Env = append(os.Environ(), ask+"=1")
	out, err := cmd.CombinedOutput()
	said := string(out)
	if err != nil && !strings.Contains(said, "start:") {
		t.Skipf("no mount namespace to be had (needs unshare and CAP_SYS_ADMIN): %v: %s", err, said)
	}
	for _, want := range []string{"start: <nil>\n", "shutdown: <nil>\n", "told: otelgc: ", "boot id"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
}
