package page

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

const (
	// shownGaps and shownPauses bound the tables of the longest.
	shownGaps   = 20
	shownPauses = 10
	// shownStrips is how many of the longest pauses are drawn on the page of a process.
	shownStrips = 3
	// drawnProcesses is how many processes are drawn beside the table of all.
	drawnProcesses = 4
	// shownCPUs bounds the probes of the table.
	shownCPUs = 64
	// What others say of themselves is shown up to so many characters.
	maxName    = 80
	maxCommand = 300
)

// sectionIDs are the parts of the page, in order.
var sectionIDs = []string{"machine", "gaps", "target", "processes", "losses"}

// sections returns the parts of the page as HTML, as of now.
func (p *Page) sections() map[string]string {
	v := p.view(busiest)
	return map[string]string{
		"machine": v.machineSection(), "gaps": v.gapsSection(), "target": v.targetSection(), "processes": v.processesSection(), "losses": p.losses(),
	}
}

// writer writes HTML. All text goes through [textfmt.Text] and is escaped.
type writer struct{ strings.Builder }

func (w *writer) heading(level int, format string, args ...any) {
	fmt.Fprintf(w, "<h%d>%s</h%d>\n", level, text(textfmt.Sprintf(format, args...)), level)
}

func (w *writer) say(format string, args ...any) {
	fmt.Fprintf(w, "<p>%s</p>\n", text(textfmt.Sprintf(format, args...)))
}

func text(v any) string { return html.EscapeString(textfmt.Text(v)) }

// column is a column of a table: its head, and the class of its cells.
type column struct{ head, class string }

func left(head string) column { return column{head, "l"} }
func wide(head string) column { return column{head, "w"} }

// number is a column whose cells are set to the right.
func number(head string) column { return column{head, ""} }

// link is a cell that leads to a page of ours.
type link struct{ to, text string }

// begin begins a table, which the keyboard can scroll where it is wider than the page.
func (w *writer) begin(columns []column) {
	w.WriteString("<table tabindex=\"0\"><tr>")
	for _, c := range columns {
		fmt.Fprintf(w, "<th%s scope=\"col\">%s</th>", class(c), text(c.head))
	}
	w.WriteString("</tr>\n")
}

func (w *writer) row(columns []column, cells ...any) {
	w.WriteString("<tr>")
	for i, cell := range cells {
		inner := ""
		if to, is := cell.(link); is {
			inner = fmt.Sprintf("<a href=\"%s\">%s</a>", html.EscapeString(to.to), text(to.text))
		} else {
			inner = text(cell)
		}
		fmt.Fprintf(w, "<td%s>%s</td>", class(columns[i]), inner)
	}
	w.WriteString("</tr>\n")
}

func (w *writer) end() { w.WriteString("</table>\n") }

func class(c column) string {
	if c.class == "" {
		return ""
	}
	return " class=\"" + c.class + "\""
}

// machineSection has what the probes have seen since they began.
func (v *view) machineSection() string {
	var w writer
	w.heading(2, "The machine")
	m := &v.machine
	if len(m.Probes) == 0 {
		w.say("No probe has looked yet.")
		return w.String()
	}
	columns := []column{left("probe"), number("CPU"), number("observed"), number("gaps from"), number("gaps"), number("gap time"), number("longest"), number("not seen")}
	w.begin(columns)
	for i := range m.Probes[:min(len(m.Probes), shownCPUs)] {
		probe := &m.Probes[i]
		unseen := "nothing"
		if probe.Dropped+probe.Backward > 0 {
			unseen = textfmt.Sprintf("%s, %s", textfmt.Many(probe.Dropped+probe.Backward, "gap"), probe.DroppedTime)
		}
		w.row(columns, probe.Mode, cpu(probe.CPU), probe.Observed().Truncate(time.Second).String(), probe.Threshold, probe.Gaps, probe.GapTime, probe.Longest.Duration(), unseen)
	}
	w.end()
	if n := len(m.Probes) - shownCPUs; n > 0 {
		w.say("%s not listed.", textfmt.Many(n, "further probe"))
	}
	if !m.AllCPUs {
		w.say("Other CPUs have no probe: what happens there is not seen, and no gap is called the machine's.")
	}
	said := map[string]bool{}
	for i := range m.Probes {
		for _, text := range append([]string{m.Probes[i].Note}, m.Probes[i].Limits...) {
			if text != "" && !said[text] {
				said[text] = true
				w.say("%s", text)
			}
		}
	}
	switch {
	case m.Board != "":
		w.say("Services learn of gaps on the board %s.", printable(m.Board, maxCommand))
	default:
		w.say("Services do not learn of gaps: there is no board (%s).", printable(m.Note, maxCommand))
	}
	return w.String()
}

// cpu writes the number of a CPU, of none if it is negative.
func cpu(n int) string {
	if n < 0 {
		return "any"
	}
	return strconv.Itoa(n)
}

// over returns the time that is drawn, from the beginning of a slot on.
func (v *view) over() stall.Span {
	from := v.now.Add(-drawnFor)
	return stall.Span{Start: from - from%stall.Instant(slotLength), End: v.now}
}

func drawn(slots []slot[strip.Pause]) []strip.Pause {
	list := make([]strip.Pause, len(slots))
	for i, s := range slots {
		list[i] = s.most
		list[i].Others = s.others
	}
	return list
}

// kept says from when on there is anything, if that is less than the time that is shown.
func (v *view) kept(w *writer, shown time.Duration) {
	if d := v.now.Sub(v.since); d < shown {
		w.say("The page has looked for %s.", max(d, 0).Truncate(time.Second).String())
	}
}

func (v *view) gapsSection() string {
	var w writer
	w.heading(2, "Gaps of the last five minutes")
	over := v.over()
	if drawing := strip.Gaps(over, drawn(since(v.gaps, over.Start))); drawing != "" {
		w.WriteString(drawing)
	} else if len(v.machine.Probes) > 0 {
		w.say("No gap was seen.")
	}
	w.heading(2, "The longest gaps of the last quarter of an hour")
	v.kept(&w, minutes*time.Minute)
	list := v.longest
	if len(list) == 0 {
		return w.String()
	}
	columns := []column{number("length"), number("ended"), left("cause"), left("scope"), number("CPU"), wide("evidence")}
	w.begin(columns)
	for _, g := range list[:min(len(list), shownGaps)] {
		w.row(columns, g.Duration(), ago(v.now, g.End)+" ago", g.Cause, g.Scope, cpu(int(g.CPU)), cmp.Or(printable(g.Evidence.String(), maxCommand), "nothing decided it"))
	}
	w.end()
	return w.String()
}

// targetSection has what the machine did to the process of --target.
func (v *view) targetSection() string {
	if v.host == nil {
		return ""
	}
	var w writer
	h := v.host
	w.heading(2, "What the machine did to process %v", h.PID)
	columns := []column{left("since it is watched"), number("time")}
	w.begin(columns)
	if h.Followed {
		w.row(columns, "a thread was ready, and none ran", h.Denied)
		w.row(columns, "one waited for a page from disk, and none ran or was ready", h.Paged)
		w.row(columns, "one was ready while others ran", h.Mixed)
	}
	w.row(columns, "threads ready without a CPU, summed over them", h.RunDelay)
	w.row(columns, "its cgroup throttled, summed over CPUs", h.Throttled)
	w.row(columns, "stolen from all CPUs by the hypervisor", h.Stolen)
	w.row(columns, "page faults served from disk", h.MajorFaults)
	w.end()
	if !h.Followed {
		w.say("Its threads are counted, not followed: whether it was held up is not seen.")
	}
	if h.Dropped > 0 {
		w.say("%s of the scheduler not seen.", textfmt.Many(h.Dropped, "event"))
	}
	w.say("As of %s ago.", ago(v.now, h.At))
	return w.String()
}

// processesSection has a table of all processes, and draws those with the longest pauses.
func (v *view) processesSection() string {
	var w writer
	w.heading(2, "Processes")
	if len(v.processes)+len(v.waiting) == 0 {
		w.say("The sidecar is attached to no process; run --target says to which it attaches.")
		return w.String()
	}
	columns := []column{
		left("process"), number("PID"), left("runtime"), number("collections"), number("paused"), number("share"), number("longest"),
		number("other stops"), number("watched"), number("unseen"), wide("now"),
	}
	w.begin(columns)
	for _, one := range v.processes {
		v.processRow(&w, columns, link{fmt.Sprintf("process/%d", one.ID), one.name()}, one)
	}
	for _, one := range v.waiting {
		v.processRow(&w, columns, one.name(), one)
	}
	w.end()
	if v.left > 0 {
		w.say("%s that had ended made room for others.", textfmt.Many(v.left, "process"))
	}
	if len(v.processes) > drawnProcesses {
		w.say("Below are the %v that were stopped for the longest in all; each has a page of its own.", drawnProcesses)
	}
	for _, one := range busiest(v.processes) {
		w.heading(3, "%s (%v)", one.name(), one.PID)
		v.draw(&w, one)
	}
	return w.String()
}

// busiest returns the processes that were stopped for the longest in all.
func busiest(all []*process) []*process {
	list := slices.Clone(all)
	slices.SortStableFunc(list, func(a, b *process) int { return cmp.Compare(b.PauseTotal, a.PauseTotal) })
	return list[:min(len(list), drawnProcesses)]
}

func (v *view) processRow(w *writer, columns []column, name any, one *process) {
	if one.Sessions == 0 {
		w.row(columns, name, fmt.Sprint(one.PID), runtimeOf(one), textfmt.None, textfmt.None, textfmt.None, textfmt.None, textfmt.None, textfmt.None, textfmt.None, state(one, v.now))
		return
	}
	w.row(columns, name, fmt.Sprint(one.PID), runtimeOf(one), one.Collections.Total, time.Duration(one.PauseTotal), one.PauseShare,
		time.Duration(one.PauseMax), one.Suspensions, time.Duration(one.Watched).Truncate(time.Second).String(), time.Duration(one.Unseen), state(one, v.now))
}

func runtimeOf(one *process) string {
	switch {
	case one.target.Runtime == "go":
		return printable("Go "+strings.TrimPrefix(one.Runtime, "go"), maxName)
	case one.Runtime != "":
		return printable(".NET "+one.Runtime, maxName)
	}
	return "unknown"
}

// state says whether a process is watched now.
func state(one *process, now stall.Instant) string {
	why := printable(one.Why, maxCommand)
	switch {
	case one.ended > 0:
		return fmt.Sprintf("over %s ago: %s", ago(now, one.ended), why)
	case why != "":
		return "not watched: " + strings.TrimPrefix(why, "not watched: ")
	case one.Sessions == 0:
		return "not watched yet"
	}
	return "watched"
}

// draw draws the pauses and the heap of a process, and lists its longest pauses.
func (v *view) draw(w *writer, one *process) {
	if one.Sessions == 0 {
		w.say("It is not watched: whether it stops is not seen.")
		return
	}
	over := v.over()
	pauses := strip.Pauses(over, drawn(since(one.pauses.slots, over.Start)))
	if pauses == "" {
		w.say("It was not seen to stop in the last five minutes.")
	}
	w.WriteString(pauses)
	slots := since(one.heaps.slots, over.Start)
	heaps := make([]strip.Heap, len(slots))
	for i := range slots {
		heaps[i] = slots[i].most
	}
	w.WriteString(strip.Heaps(over, heaps))
	if one.Lost+one.Late+one.Detached > 0 {
		w.say("Not seen: %s lost, %s that came late, %s of the stream (%s).", textfmt.Many(one.Lost, "event"), textfmt.Many(one.Late, "stop"),
			textfmt.Many(one.Detached, "end"), cmp.Or(printable(one.DetachedWhy, maxCommand), textfmt.None))
	}
	if one.Unexported != nil {
		w.say("Not exported: %s.", one.Unexported.String())
	}
	list := one.shown
	if len(list) == 0 {
		return
	}
	columns := []column{number("length"), number("ended"), left("for"), left("why"), number("without a CPU"), number("for pages from disk")}
	w.say("The longest of the last quarter of an hour:")
	w.begin(columns)
	for _, s := range list[:min(len(list), shownPauses)] {
		w.row(columns, s.Duration(), ago(v.now, s.End)+" ago", s.name, cmp.Or(s.why, textfmt.None), s.cpuWait, s.pageWait)
	}
	w.end()
}

// processPage is the page of one process.
func (v *view) processPage(one *process) string {
	var w writer
	w.heading(1, "%s (%v)", one.name(), one.PID)
	w.WriteString("<p><a href=\"../\">all processes</a></p>\n" + v.lead)
	w.say("As of now; to see more, load it again.")
	if one.CommandLine != "" {
		w.say("Command line: %s", printable(one.CommandLine, maxCommand))
	}
	w.say("It is %s.", state(one, v.now))
	columns := []column{left("fact"), left("value")}
	w.begin(columns)
	for _, name := range factNames(one.target) {
		w.row(columns, name, printable(one.target.Facts[name], maxCommand))
	}
	w.row(columns, "collections", counted(one.Collections.Kinds))
	w.row(columns, "watched", time.Duration(one.Watched))
	w.row(columns, "unseen", time.Duration(one.Unseen))
	w.end()
	v.draw(&w, one)
	for i := range one.shown[:min(len(one.shown), shownStrips)] {
		w.WriteString(one.shown[i].strip(i+1, v.now).HTML(0, nil))
	}
	return w.String()
}

// factNames returns the names of the facts of a target, as they are said, then the others.
func factNames(t recording.Target) []string {
	names := slices.Clone(recording.RuntimeFacts[t.Runtime])
	for _, name := range slices.Sorted(maps.Keys(t.Facts)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return t.Facts[name] == "" })
}

// counted writes counts by name.
func counted(of map[string]uint64) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		words = append(words, textfmt.Sprintf("%s %s", strings.ReplaceAll(name, "_", " "), textfmt.Count(of[name])))
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

// loss is a count of otelgc.monitor.dropped.
type loss struct {
	Item   string `json:"item"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

func (p *Page) lossList() []loss {
	list := []loss{}
	if p.o.Losses == nil {
		return list
	}
	for of, n := range p.o.Losses() {
		list = append(list, loss{of[0], of[1], n})
	}
	slices.SortFunc(list, func(a, b loss) int { return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Reason, b.Reason)) })
	return list
}

func (p *Page) losses() string {
	var w writer
	w.heading(2, "Exported and lost")
	list := p.lossList()
	if len(list) == 0 {
		w.say("Nothing was lost on the way to the exporter.")
	} else {
		columns := []column{left("item"), left("reason"), number("count")}
		w.begin(columns)
		for _, l := range list {
			w.row(columns, l.Item, l.Reason, l.Count)
		}
		w.end()
	}
	switch u := p.unexported(); {
	case u != nil:
		w.say("Not exported so far, of the machine: %s.", u.String())
	default:
		w.say("As far as is known all events of the machine that were given to the exporter have left it, or wait in its queue.")
	}
	return w.String()
}
