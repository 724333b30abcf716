package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// testFullDisk fills the disk under the file exporter and frees it again.
func testFullDisk(t *testing.T, s *site, url string, collector *process, senders []*process) {
	filler := filepath.Join(s.out, "filler")
	fill(t, filler)
	t.Log("the disk is full")
	all := append([]*process{collector}, senders...)
	before := failedBySelf(s)
	eventually(t, "the Collector's own count of what it could not write", func() error {
		// What the exporter has freed by rotation is filled too.
		fill(t, filler)
		if now := failedBySelf(s); now <= before {
			return fmt.Errorf("otelcol_exporter_send_failed: %v", now)
		}
		return nil
	}, all...)
	checkServing(t, url, senders...)
	if rss := collector.resident(t); rss > collectorMemory {
		t.Errorf("the Collector holds %d bytes, want at most %d", rss, int64(collectorMemory))
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	t.Log("the disk has room again")
	expectStatus(t, s, monotonic(t), all...)
	t.Logf("%d lines were cut", s.read().cut)
}

// mountDisk mounts a small disk at dir, and reports whether it could.
func mountDisk(t *testing.T, dir string) bool {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		t.Logf("skipped: the part with a full disk: mount a tmpfs: %v", err)
		return false
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return true
}

// fill appends to path until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for written := 0; written <= diskSize; {
		n, err := f.Write(block)
		if errors.Is(err, unix.ENOSPC) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		written += n
	}
	t.Fatalf("%s: %d bytes did not fill the disk", path, diskSize)
}

var sendFailed = regexp.MustCompile(`(?m)^otelcol_exporter_send_failed_\w+\{[^}]*exporter="file/\w+"[^}]*\} (\S+)$`)

// failedBySelf sums what the Collector says of itself that its file exporter
// could not write.
func failedBySelf(s *site) (sum float64) {
	page, err := get("http://" + s.self + "/metrics")
	if err != nil {
		return 0
	}
	for _, m := range sendFailed.FindAllStringSubmatch(page, -1) {
		if v, err := strconv.ParseFloat(m[1], 64); err == nil {
			sum += v
		}
	}
	return sum
}
