package harness

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// Page is a page of Markdown in the making.
type Page struct {
	title    string
	measured string // on what, when, and how again
	text     strings.Builder
	log      io.Writer
}

// NewPage begins a page with its title, the facts of this machine and the command
// that measures again.
func NewPage(title, command string, log io.Writer) *Page {
	return &Page{title: title, log: log, measured: fmt.Sprintf("Measured on %s. Again: `cd bench && go run . %s`.", machine(), command)}
}

// Measured returns the sentence on what was measured, when, and how again.
func (p *Page) Measured() string { return p.measured }

// SetMeasured sets that sentence, for a page of figures that were measured before.
func (p *Page) SetMeasured(sentence string) { p.measured = sentence }

// Logf logs progress.
func (p *Page) Logf(format string, args ...any) {
	fmt.Fprintf(p.log, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// Para adds a paragraph.
func (p *Page) Para(format string, args ...any) {
	fmt.Fprintf(&p.text, "\n"+format+"\n", args...)
}

// Table is a table in the making. All columns but the first are aligned to the right.
type Table struct{ strings.Builder }

// NewTable begins a table with its head, such as "load | p50 | p99".
func NewTable(head string) *Table {
	t := new(Table)
	t.Row("%s", head)
	fmt.Fprintf(t, "|---|%s\n", strings.Repeat("--:|", strings.Count(head, " | ")))
	return t
}

// Row adds a row, whose format is that of all cells, such as "%s | %.1f | %.1f".
func (t *Table) Row(format string, cells ...any) { fmt.Fprintf(t, "| "+format+" |\n", cells...) }

// Cells joins cells of a row, each written by verb.
func Cells[T any](verb string, cells []T) string {
	var all []string
	for _, v := range cells {
		all = append(all, fmt.Sprintf(verb, v))
	}
	return strings.Join(all, " | ")
}

// Table adds a table.
func (p *Page) Table(t *Table) { p.text.WriteString("\n" + t.String()) }

// String returns the Markdown.
func (p *Page) String() string { return fmt.Sprintf("## %s\n\n%s\n%s", p.title, p.measured, &p.text) }

// Percent writes a fraction.
func Percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// Met says whether a bound was met.
func Met(met bool) string {
	if met {
		return "met"
	}
	return "not met"
}

// machine describes this machine in one line.
func machine() string {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = []byte("unknown")
	}
	return fmt.Sprintf("%s; %d CPUs; %s/%s, kernel %s; %s; %s", cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		strings.TrimSpace(string(kernel)), runtime.Version(), time.Now().UTC().Format(time.DateOnly))
}

// cpuModel returns the name of the first CPU, with the numbers that distinguish
// models to which hypervisors give one name.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // without it the CPU is unknown
	first, _, _ := strings.Cut(string(text), "\n\n")
	facts := make(map[string]string)
	for line := range strings.Lines(first) {
		name, value, _ := strings.Cut(line, ":")
		facts[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	name := facts["model name"]
	if name == "" {
		return "unknown CPU"
	}
	name += fmt.Sprintf(" (family %s, model %s, %s MHz)", facts["cpu family"], facts["model"], facts["cpu MHz"])
	if strings.Contains(" "+facts["flags"]+" ", " hypervisor ") {
		name += ", virtual machine"
	}
	return name
}
