package recording

import (
	"testing"
	"testing/fstest"
)

func TestDescribe(t *testing.T) {
	root := fstest.MapFS{
		"proc/cpuinfo":              {Data: []byte("processor\t: 0\nmodel name\t: Some CPU @ 2GHz\n\nprocessor\t: 1\nmodel name\t: Some CPU @ 2GHz\n")},
		"proc/meminfo":              {Data: []byte("MemTotal:        8029712 kB\nMemFree: 1 kB\n")},
		"proc/sys/kernel/osrelease": {Data: []byte("6.18.0\n")},
		"etc/os-release":            {Data: []byte("NAME=\"Debian\"\nPRETTY_NAME=\"Debian 13\"\n")},
	}
	machine, system := Describe(root)
	if want := "Some CPU @ 2GHz, 2 CPUs online, 7.7 GiB of memory"; machine != want {
		t.Errorf("machine %q, want %q", machine, want)
	}
	if want := "Debian 13, Linux 6.18.0"; system != want {
		t.Errorf("system %q, want %q", system, want)
	}
	if machine, system := Describe(fstest.MapFS{}); machine != "" || system != "" {
		t.Errorf("of nothing: %q, %q, want nothing", machine, system)
	}
}
