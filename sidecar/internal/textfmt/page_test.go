package textfmt

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTable(t *testing.T) {
	table := Table{Left: map[int]bool{2: true}}
	table.Row("who", "ms", "why")
	table.Row("größer", "1.5", strings.Repeat("x", 2*Width))
	table.Row("a")
	var b strings.Builder
	table.Print(&b)
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
	Heading(&b, "WHO", "and why")
	Item(&b, "machine", strings.Repeat("12345678 ", 12)+strings.Repeat("y", Width))
	Wrap(&b, "  - ", "    ", "")
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
	Wrap(&b, "", "", strings.Repeat("y", Width-3)+" 56 % was queue, ("+strings.Repeat("z", Width-30)+" 3.67 ms); last 5 s.")
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
	text := NewText(&b)
	if text.Columns() != Width {
		t.Errorf("%d columns for a file, want %d", text.Columns(), Width)
	}
	text.columns = Narrow
	Heading(text, "WHO", "and why")
	Heading(text, "WHAT", strings.Repeat("much ", 15)+"too long")
	Item(text, "machine", strings.Repeat("12345678 ", 8))
	var table Table
	table.Row(strings.Repeat("x", Width))
	table.Print(text)
	if err := text.Flush(); err != nil {
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
