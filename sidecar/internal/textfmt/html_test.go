package textfmt

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHTML(t *testing.T) {
	var out strings.Builder
	h := NewHTML(&out, "a <b>")
	table := Table{Left: []int{2}}
	table.Row("from", "gaps", "")
	table.Row("<1 us", "2", "###")
	h.Title("WHAT %s STOPPED FOR", "x&y")
	h.Say("nothing at %s", "all")
	h.Heading("GAPS", "10 s <observed>")
	h.Item("machine", "one  of\nmany")
	h.Wrap("  - ", "    ", "a note")
	h.Table(&table)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(out.String(), "<body>\n")
	want := `<h2>WHAT x&amp;y STOPPED FOR</h2>
<p>nothing at all</p>
<h2>GAPS<small>10 s &lt;observed&gt;</small></h2>
<p class="n"><b>machine</b> one of many</p>
<p>a note</p>
<table>
<tr><td class="l">from</td><td>gaps</td><td class="l"></td></tr>
<tr><td class="l">&lt;1 us</td><td>2</td><td class="l"><i style="width:18px"></i></td></tr>
</table>
</body></html>
`
	if d := cmp.Diff(want, body); d != "" {
		t.Errorf("body (-want +got):\n%s", d)
	}
	if !strings.Contains(out.String(), "<title>a &lt;b&gt;</title>") {
		t.Errorf("head of:\n%s", out.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestHTMLToABrokenPipe(t *testing.T) {
	h := NewHTML(broken{}, "")
	h.Heading(strings.Repeat("x", 1<<16), "")
	if err := h.Close(); err == nil {
		t.Error("no error")
	}
}
