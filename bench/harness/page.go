package harness

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// Page is a page of Markdown in the making.
type Page struct {
	text strings.Builder
	log  io.Writer
}

// NewPage begins a page with its title, the facts of this machine and the command
// that measures again.
func NewPage(title, command string, log io.Writer) *Page {
	p := &Page{log: log}
	p.Para("## %s", title)
	p.Para("Measured on %s. Again: `cd bench && go run . %s`.", machine(), command)
	return p
}

// Logf logs progress.
func (p *Page) Logf(format string, args ...any) {
	fmt.Fprintf(p.log, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// Para adds a paragraph.
func (p *Page) Para(format string, args ...any) {
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	fmt.Fprintf(&p.text, format+"\n", args...)
}

// Table adds a table. Its first row is the head; all columns but the first are
// aligned to the right.
func (p *Page) Table(rows [][]string) {
	p.text.WriteByte('\n')
	for i, row := range rows {
		fmt.Fprintf(&p.text, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&p.text, "|---|%s\n", strings.Repeat("--:|", len(row)-1))
		}
	}
}

// String returns the Markdown.
func (p *Page) String() string { return p.text.String() }

// Row returns the text of each value.
func Row(values ...any) []string {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = fmt.Sprint(v)
	}
	return row
}

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
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer func() { _ = f.Close() }() // it was only read
	facts := make(map[string]string)
	for s := bufio.NewScanner(f); s.Scan() && s.Text() != ""; {
		name, value, _ := strings.Cut(s.Text(), ":")
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
