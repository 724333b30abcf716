package page

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"slices"
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
	now := p.o.Clock.Now()
	lost := p.losses()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(now)
	return map[string]string{
		"machine": p.machineSection(now), "gaps": p.gapsSection(now), "target": p.targetSection(now),
		"processes": p.processesSection(now), "losses": lost,
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

func (w *writer) begin(columns []column) {
	w.WriteString("<table><tr>")
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
func (p *Page) machineSection(now stall.Instant) string {
	var w writer
	w.heading(2, "The machine")
	m := &p.machine
	if len(m.Probes) == 0 {
		w.say("No probe has looked yet.")
		return w.String()
	}
	columns := []column{left("probe"), number("CPU"), number("observed"), number("gaps from"), number("gaps"), number("gap time"), number("longest"), number("not seen")}
	w.begin(columns)
	for i := range m.Probes[:min(len(m.Probes), shownCPUs)] {
		v := &m.Probes[i]
		cpu := "any"
		if v.CPU >= 0 {
			cpu = fmt.Sprint(v.CPU)
		}
		unseen := "nothing"
		if v.Dropped+v.Backward > 0 {
			unseen = textfmt.Sprintf("%s, %s", textfmt.Many(v.Dropped+v.Backward, "gap"), v.DroppedTime)
		}
		w.row(columns, v.Mode, cpu, v.Observed().Truncate(time.Second).String(), v.Threshold, v.Gaps, v.GapTime, v.Longest.Duration(), unseen)
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

// over returns the time that is drawn, from the beginning of a slot on.
func (p *Page) over(now stall.Instant) stall.Span {
	from := now.Add(-drawnFor)
	return stall.Span{Start: from - from%stall.Instant(slotLength), End: now}
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
func (p *Page) kept(w *writer, now stall.Instant, shown time.Duration) {
	if d := now.Sub(p.since); d < shown {
		w.say("The page has looked for %s.", max(d, 0).Truncate(time.Second).String())
	}
}

func (p *Page) gapsSection(now stall.Instant) string {
	var w writer
	w.heading(2, "Gaps of the last five minutes")
	over := p.over(now)
	if drawing := strip.Gaps(over, drawn(p.gaps.since(over.Start))); drawing != "" {
		w.WriteString(drawing)
	} else if len(p.machine.Probes) > 0 {
		w.say("No gap was seen.")
	}
	w.heading(2, "The longest gaps of the last quarter of an hour")
	p.kept(&w, now, minutes*time.Minute)
	list := p.longest.longest(now)
	if len(list) == 0 {
		return w.String()
	}
	columns := []column{number("length"), number("ended"), left("cause"), left("where"), wide("evidence")}
	w.begin(columns)
	for _, g := range list[:min(len(list), shownGaps)] {
		w.row(columns, g.Duration(), ago(now, g.End)+" ago", g.Cause, place(g), cmp.Or(printable(g.Evidence.String(), maxCommand), "nothing decided it"))
	}
	w.end()
	return w.String()
}

// targetSection has what the machine did to the process of --target.
func (p *Page) targetSection(now stall.Instant) string {
	if p.host == nil {
		return ""
	}
	var w writer
	v := p.host
	w.heading(2, "What the machine did to process %v", v.PID)
	columns := []column{left("since it is watched"), number("time")}
	w.begin(columns)
	if v.Followed {
		w.row(columns, "a thread was ready, and none ran", v.Denied)
		w.row(columns, "one waited for a page from disk, and none ran or was ready", v.Paged)
		w.row(columns, "one was ready while others ran", v.Mixed)
	}
	w.row(columns, "threads ready without a CPU, summed over them", v.RunDelay)
	w.row(columns, "its cgroup throttled, summed over CPUs", v.Throttled)
	w.row(columns, "stolen from all CPUs by the hypervisor", v.Stolen)
	w.row(columns, "page faults served from disk", v.MajorFaults)
	w.end()
	if !v.Followed {
		w.say("Its threads are counted, not followed: whether it was held up is not seen.")
	}
	if v.Dropped > 0 {
		w.say("%s of the scheduler not seen.", textfmt.Many(v.Dropped, "event"))
	}
	w.say("As of %s ago.", ago(now, v.At))
	return w.String()
}

// processesSection has a table of all processes, and draws those with the longest pauses.
func (p *Page) processesSection(now stall.Instant) string {
	var w writer
	w.heading(2, "Processes")
	list := sorted(p.processes)
	waiting := sorted(p.waiting)
	if len(list)+len(waiting) == 0 {
		w.say("The sidecar is attached to no process; run --target says to which it attaches.")
		return w.String()
	}
	columns := []column{
		left("process"), number("PID"), left("runtime"), number("collections"), number("paused"), number("share"), number("longest"),
		number("other stops"), number("watched"), number("unseen"), wide("now"),
	}
	w.begin(columns)
	for _, one := range list {
		p.processRow(&w, columns, link{fmt.Sprintf("process/%d", one.ID), one.name()}, one, now)
	}
	for _, one := range waiting {
		p.processRow(&w, columns, one.name(), one, now)
	}
	w.end()
	if p.left > 0 {
		w.say("%s that had ended made room for others.", textfmt.Many(p.left, "process"))
	}
	busiest := slices.Clone(list)
	slices.SortStableFunc(busiest, func(a, b *process) int { return cmp.Compare(b.PauseTotal, a.PauseTotal) })
	if n := len(busiest); n > drawnProcesses {
		w.say("Below are the %v with the longest pauses in all; each has a page of its own.", drawnProcesses)
		busiest = busiest[:drawnProcesses]
	}
	for _, one := range busiest {
		w.heading(3, "%s (%v)", one.name(), one.PID)
		p.draw(&w, one, now)
	}
	return w.String()
}

func (p *Page) processRow(w *writer, columns []column, name any, one *process, now stall.Instant) {
	if one.Sessions == 0 {
		w.row(columns, name, fmt.Sprint(one.PID), runtimeOf(one), textfmt.None, textfmt.None, textfmt.None, textfmt.None, textfmt.None, textfmt.None, textfmt.None, state(one, now))
		return
	}
	w.row(columns, name, fmt.Sprint(one.PID), runtimeOf(one), one.Collections.Total, time.Duration(one.PauseTotal), one.PauseShare,
		time.Duration(one.PauseMax), one.Suspensions, time.Duration(one.Watched).Truncate(time.Second).String(), time.Duration(one.Unseen), state(one, now))
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
func (p *Page) draw(w *writer, one *process, now stall.Instant) {
	over := p.over(now)
	pauses := strip.Pauses(over, drawn(one.pauses.since(over.Start)))
	if pauses == "" {
		w.say("It was not seen to stop in the last five minutes.")
	}
	w.WriteString(pauses)
	slots := one.heaps.since(over.Start)
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
	list := one.longest.longest(now)
	if len(list) == 0 {
		return
	}
	columns := []column{number("length"), number("ended"), left("for"), left("why"), number("without a CPU"), number("for pages from disk")}
	w.say("The longest of the last quarter of an hour:")
	w.begin(columns)
	for _, v := range list[:min(len(list), shownPauses)] {
		w.row(columns, v.Duration(), ago(now, v.End)+" ago", v.name, cmp.Or(v.why, textfmt.None), v.cpuWait, v.pageWait)
	}
	w.end()
}

// processPage is the page of one process.
func (p *Page) processPage(one *process, now stall.Instant) string {
	var w writer
	w.heading(1, "%s (%v)", one.name(), one.PID)
	w.WriteString("<p><a href=\"../\">all processes</a></p>\n" + p.Lead)
	w.say("As of now; to see more, load it again.")
	if one.CommandLine != "" {
		w.say("Command line: %s", printable(one.CommandLine, maxCommand))
	}
	w.say("It is %s.", state(one, now))
	columns := []column{left("fact"), left("value")}
	w.begin(columns)
	for _, name := range factNames(one.target) {
		w.row(columns, name, printable(one.target.Facts[name], maxCommand))
	}
	w.row(columns, "collections", counted(one.Collections.Kinds))
	w.row(columns, "watched", time.Duration(one.Watched))
	w.row(columns, "unseen", time.Duration(one.Unseen))
	w.end()
	p.draw(&w, one, now)
	list := one.longest.longest(now)
	for i, v := range list[:min(len(list), shownStrips)] {
		w.WriteString(v.strip(i+1, now).HTML(0, nil))
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
