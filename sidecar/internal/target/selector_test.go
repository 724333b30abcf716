package target

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		pid  int
		name string
		bad  bool
	}{
		{"auto", 0, "", false},
		{"42", 42, "", false},
		{"shop", 0, "shop", false},
		{"shop42", 0, "shop42", false},
		{"", 0, "", true},
		{"0", 0, "", true},
		{"-7", 0, "", true},
	} {
		got, err := Parse(c.text)
		if got.pid != c.pid || got.name != c.name || (err != nil) != c.bad || err == nil && got.String() != c.text {
			t.Errorf("parse %q: got %+v, %v", c.text, got, err)
		}
	}
}

// process makes a process of a made-up /proc.
func fakeProcess(t *testing.T, root string, pid int, comm, cmdline string) {
	t.Helper()
	dir := filepath.Join(root, strconv.Itoa(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"comm": comm + "\n", "cmdline": cmdline} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPicks(t *testing.T) {
	root := t.TempDir()
	proc := dotnetipc.Proc{Root: root}
	fakeProcess(t, root, 1, "dotnet", "/usr/bin/dotnet\x00exec\x00/app/Shop.Web.dll\x00--port\x00")
	fakeProcess(t, root, 2, "a-very-long-nam", "/app/a-very-long-name-of-a-program\x00")
	fakeProcess(t, root, 3, "shop", "shop\x00")
	fakeProcess(t, root, 4, "sh", "sh\x00-c\x00dotnet /app/Shop.Web.dll\x00")
	for _, c := range []struct {
		selector string
		again    []string
		want     []int
	}{
		{"auto", nil, []int{1, 2, 3, 4}},
		{"Shop.Web", nil, []int{1}},
		{"dotnet", nil, []int{1}},
		{"a-very-long-name-of-a-program", nil, []int{2}},
		{"a-very-long-nam", nil, []int{2}},
		{"shop", nil, []int{3}},
		{"3", nil, []int{3}},
		{"9", []string{"shop"}, []int{3}},
		{"9", nil, nil},
		{"nothing", nil, nil},
	} {
		s, err := Parse(c.selector)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for pid := 1; pid <= 4; pid++ {
			if s.picks(t.Context(), proc, pid, c.again) {
				got = append(got, pid)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s %v picks %v, want %v", c.selector, c.again, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s %v picks %v, want %v", c.selector, c.again, got, c.want)
			}
		}
	}
}

// TestAnotherOfTheSameCommandLine: a process that was named by its number is
// looked for by its command line when it has ended, not before.
func TestAnotherOfTheSameCommandLine(t *testing.T) {
	root := t.TempDir()
	for pid := 1; pid <= 3; pid++ {
		fakeProcess(t, root, pid, "shop", "shop\x00serve\x00")
	}
	first, second, third := dotnetipc.Identity{PID: 1, Created: 1}, dotnetipc.Identity{PID: 2, Created: 2}, dotnetipc.Identity{PID: 3, Created: 3}
	w := &Watcher{
		o:     Options{Selector: Selector{pid: 1}, Proc: dotnetipc.Proc{Root: root}},
		known: map[dotnetipc.Identity]*process{first: nil}, named: first, again: []string{"shop", "serve"},
	}
	if w.wanted(t.Context(), second) {
		t.Error("one beside the process that lives is wanted")
	}
	delete(w.known, first)
	if !w.wanted(t.Context(), second) {
		t.Error("the process that was started again is not wanted")
	}
	w.known[second], w.named = nil, second
	if w.wanted(t.Context(), third) {
		t.Error("one beside the process that was started again is wanted")
	}
}
