package doctor

import (
	"testing"
	"testing/fstest"
)

// FuzzRun puts the same text into every file that any fake machine has: no
// check may panic, or give a verdict without a reason.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{"", "0", "-1", "1\n", "99999999999999999999", "0-99999999", "3,1-", "(x) R 1 2", "cpu0 1 2 3 4 5 6 7 8 9", "some avg10=x", "[", "()", "0::/../../x\n", "\x1f\x8b\x08\x00", "max 0"} {
		f.Add(seed)
	}
	paths := []string{"proc/config.gz", "dev/cpu/3/msr", "dev/cpu_dma_latency"}
	for _, name := range []string{"metal", "powersave", "fifo-target"} {
		for file := range readFake(f, "testdata/"+name+".txtar").files {
			paths = append(paths, file)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := fstest.MapFS{}
		for _, file := range paths {
			files[file] = &fstest.MapFile{Data: []byte(text)}
		}
		cpu := 3
		fake := fake{files: files, options: map[string]string{}}
		report, err := run(root{files}, "amd64", fake.live(), Options{CPU: &cpu, Target: 77})
		if (report == nil) == (err == nil) {
			t.Fatalf("report %v and error %v", report, err)
		}
		if report != nil {
			checkSane(t, report)
		}
	})
}
