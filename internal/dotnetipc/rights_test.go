package dotnetipc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestMend: nobody is told to become who he is, and the user is the one that the
// process runs as.
func TestMend(t *testing.T) {
	self := os.Geteuid()
	for status, want := range map[string]string{
		fmt.Sprintf("Uid:\t%d\t%d\t0\t0\n", self+1, self):           fmt.Sprintf("run with CAP_X: to be the process's user (uid %d) is not enough here", self),
		fmt.Sprintf("Name:\tx\nUid:\t%d\t%d\t0\t0\n", self, self+7): fmt.Sprintf("run as the process's user (uid %d), or with CAP_X", self+7),
		"Name:\tx\nUid:\t0\n": "run as the process's user, or with CAP_X",
		"Uid:\t0\tx\n":        "run as the process's user, or with CAP_X",
	} {
		p := Proc{Root: t.TempDir()}
		dir := filepath.Join(p.Root, strconv.Itoa(7))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "status"), []byte(status), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.Mend(7, "CAP_X"); got != want {
			t.Errorf("status %q: got %q, want %q", status, got, want)
		}
	}
	if got, want := (Proc{Root: t.TempDir()}).Mend(7, "CAP_X"), "run as the process's user, or with CAP_X"; got != want {
		t.Errorf("no status: got %q, want %q", got, want)
	}
}
