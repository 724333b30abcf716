package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBadDisks: what cannot be written is counted, nothing is left of it, and what can be
// written again is.
func TestBadDisks(t *testing.T) {
	t.Run("gone", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "slow")
		c := capturerOf(t, dir, Options{Every: 1}, true)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if got, want := c.offer(3), map[string]int{whyWrite: 3}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("skipped: no small disk to be had: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	t.Run("full", func(t *testing.T) {
		c := capturerOf(t, dir, Options{Every: 1}, true)
		got := c.offer(10)
		if got[""] == 0 || got[whyWrite] == 0 || got[""]+got[whyWrite] != 10 {
			t.Errorf("got %v, want some that are kept, and the others counted", got)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != got[""]*len(endings) {
			t.Errorf("%d files of %d requests", len(entries), got[""])
		}
		for _, e := range entries {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.offer(1); got[""] != 1 {
			t.Errorf("with room again: got %v, want it kept", got)
		}
	})
	t.Run("read-only", func(t *testing.T) {
		c := capturerOf(t, dir, Options{Every: 1}, true)
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		if got := c.offer(3); got[whyWrite] != 3 {
			t.Errorf("got %v, want all counted", got)
		}
		c.Close(t.Context())
		if err := Start(c.monitor, Options{Dir: dir}); err == nil {
			t.Error("start in a directory that cannot be written: no error")
		}
	})
}
