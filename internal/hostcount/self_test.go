package hostcount

import (
	"os"
	"runtime"
	"testing"
)

// TestReadThisProcess reads what the kernel says of the test itself.
func TestReadThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	p, err := Open(os.DirFS("/"), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	now := ticking()
	before, err := p.Read(now, 1000)
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.Read(now, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if after.MajorFaults < before.MajorFaults || after.RunDelay.Or(-1) < before.RunDelay.Or(0) || after.Threads < 1 {
		t.Errorf("counters go back: %+v, then %+v", before, after)
	}
}

func BenchmarkRead(b *testing.B) {
	for name, limit := range map[string]int{"counters": 0, "with run delay": 1000} {
		b.Run(name, func(b *testing.B) {
			p, err := Open(os.DirFS("/"), os.Getpid())
			if err != nil {
				b.Skip(err)
			}
			defer p.Close()
			now := ticking()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Read(now, limit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
