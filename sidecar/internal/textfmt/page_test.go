package textfmt

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Length(0):                       "0 ns",
		Length(-1500 * time.Nanosecond): "-1.50 us",
		Length(999):                     "999 ns",
		Length(1920 * time.Microsecond): "1.92 ms",
		Length(99_960_000):              "100 ms",
		Length(90 * time.Minute):        "5400 s",
		Digits(9.996):                   "10.0",
		Count(999):                      "999",
		Count(-1234567):                 "-1,234,567",
		Count(-123):                     "-123",
		Count(uint64(1) << 40):          "1,099,511,627,776",
		Many(1, "gap"):                  "1 gap",
		Many(int64(0), "gap"):           "0 gaps",
		Many(12000, "gap"):              "12,000 gaps",

		Text(999 * time.Microsecond):    "999 us",
		Text(gc.Bytes(4 << 20)):         "4.00 MiB",
		Text(gc.Bytes(1023)):            "1023 B",
		Text(gc.Bytes(1 << 40)):         "1.00 TiB",
		Text(0.00001):                   "<0.01 %",
		Text(0.0032):                    "0.32 %",
		Text(1.0):                       "100 %",
		Text(gc.Known(0.0)):             "0 %",
		Text(gc.Maybe[time.Duration]{}): "n/a",
		Text(stall.GCPause):             "gc.pause",
		Sprintf("%s of %d, %8s, %v", 1234, 1234, time.Second, 5*time.Second): "1,234 of 1234,   1.00 s, 5s",
		Sprintf("100 %"): "100 %",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTable(t *testing.T) {
	table := Table{Left: []int{2}}
	table.Row("who", "ms", "why")
	table.Row("größer", "1.5", strings.Repeat("x", 2*Width))
	table.Row("a")
	var b strings.Builder
	p := NewText(&b, Width)
	p.Table(&table)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := "  who      ms  why\n" +
		"  größer  1.5  " + strings.Repeat("x", Width-16) + "…\n" +
		"  a\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("table (-want +got):\n%s", d)
	}
	if got := table.Width(); got != 2+6+2+3+2+2*Width {
		t.Errorf("width: got %d", got)
	}
}

func TestWrap(t *testing.T) {
	var b strings.Builder
	p := NewText(&b, Width)
	p.Heading("WHO", "and why")
	p.Item("machine", "%s", strings.Repeat("12345678 ", 12)+strings.Repeat("y", Width))
	p.Wrap("  - ", "    ", "")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := "\nWHO" + strings.Repeat(" ", Width-10) + "and why\n" +
		"  machine      " + strings.TrimSpace(strings.Repeat("12345678 ", 9)) + "\n" +
		"               12345678 12345678 12345678\n" +
		"               " + strings.Repeat("y", Width) + "\n" +
		"  -\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("page (-want +got):\n%s", d)
	}
}

// TestWrapKeepsUnits: a number and its unit are on one line, and one space is
// between them.
func TestWrapKeepsUnits(t *testing.T) {
	var b strings.Builder
	p := NewText(&b, Width)
	p.Wrap("", "", strings.Repeat("y", Width-3)+" 56 % was queue, ("+strings.Repeat("z", Width-30)+" 3.67 ms); last 5 s.")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("y", Width-3) + "\n" +
		"56 % was queue, (" + strings.Repeat("z", Width-30) + " 3.67 ms);\n" +
		"last 5 s.\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
}

// TestNarrow: what is written for a narrow terminal keeps to it.
func TestNarrow(t *testing.T) {
	var b strings.Builder
	if n := Columns(&b); n != Width {
		t.Errorf("%d columns for a file, want %d", n, Width)
	}
	p := NewText(&b, Narrow)
	p.Heading("WHO", "and why")
	p.Heading("WHAT", strings.Repeat("much ", 15)+"too long")
	p.Item("machine", "%s", strings.Repeat("12345678 ", 8))
	var table Table
	table.Row(strings.Repeat("x", Width))
	p.Table(&table)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := "\nWHO" + strings.Repeat(" ", Narrow-10) + "and why\n" +
		"\nWHAT\n  (" + strings.Repeat("much ", 15) + "\n  too long)\n" +
		"  machine      " + strings.TrimSpace(strings.Repeat("12345678 ", 7)) + "\n" +
		"               12345678\n" +
		"  " + strings.Repeat("x", Narrow-3) + "…\n"
	want = strings.ReplaceAll(want, " \n", "\n")
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("page (-want +got):\n%s", d)
	}
}

func TestRank(t *testing.T) {
	tests := []struct {
		q    int
		n    int
		want int
	}{
		{500, 1, 1}, {500, 2, 1}, {500, 3, 2}, {900, 10, 9}, {990, 10, 10}, {990, 100, 99},
		{990, 101, 100}, {999, 10_000, 9_990}, {999, 10_001, 9_991}, {990, 1_000_000, 990_000},
	}
	for _, tt := range tests {
		if got := Rank(tt.q, tt.n); got != tt.want {
			t.Errorf("Rank(%v, %d) = %d, want %d", tt.q, tt.n, got, tt.want)
		}
	}
}
