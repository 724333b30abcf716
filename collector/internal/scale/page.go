package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// page writes down what was measured.
func page(o *options, c comparison, r *soaked) string {
	var b strings.Builder
	b.WriteString("## What the connector does, and what it takes\n\n")
	fmt.Fprintf(&b, "Measured on %s. Load average when it ended: %s.\n\n", machine(), busy())
	c.write(&b, o)
	r.write(&b, o)
	return b.String()
}

func (c comparison) write(b *strings.Builder, o *options) {
	fmt.Fprintf(b, `### Throughput

Batches of %d server spans with six attributes, of %d services in turn; in their time lie 1,000 intervals, a pause and a gap of the
machine every 10 ms. The connector stall holds them, joins each, writes its attributes and counts it, as `+"`collector/config.yaml`"+` has it;
the span metrics connector makes its metrics with its defaults. Making the batches is in the figures of both, and given beside them.
CPU is getrusage of the whole program, garbage collection with it, so that whoever else uses the machine counts little.
Medians and ranges of %d rounds of %v each, there and back.

| cores | connector | spans per CPU second | range | without making them | spans per second of wall time | range |
|--:|---|--:|--:|--:|--:|--:|
`, batchSpans, processes, o.rounds, o.round)
	for _, n := range slices.Sorted(maps.Keys(c)) {
		copying, _ := spread(c[n][byCopy], round.perCPU)
		for _, name := range []string{byStall, byOther, byCopy} {
			per, perRange := spread(c[n][name], round.perCPU)
			wall, wallRange := spread(c[n][name], round.perWall)
			net := "–"
			if name != byCopy && copying > per {
				net = count(1 / (1/per - 1/copying))
			}
			fmt.Fprintf(b, "| %d | %s | %s | %s | %s | %s | %s |\n", n, name, count(per), perRange, net, count(wall), wallRange)
		}
	}
	imperfect := int64(0)
	for _, rounds := range c {
		for _, r := range rounds[byStall] {
			imperfect += r.imperfect
		}
	}
	fmt.Fprintf(b, "\nSpans that the connector stall could not attribute with all that was to say: %d.\n\n", imperfect)
}

func (r *soaked) write(b *strings.Builder, o *options) {
	watched := (hosts - 1) * perHost
	fmt.Fprintf(b, `### Soak

%v of %s spans a second from %d processes of %d hosts, each with 100 pauses a second and its host with 100 gaps; events come a second later,
those of a tenth of the processes 8 s later, of a tenth twice, of a tenth out of order; one host has no source (%d of %d processes are watched).
In the middle fifth no source speaks: every span waits its 10 s and the limit, max_bytes of %s, is met;
what the sources saw then never comes, but for the last 2 s, and the spans of that time have a coverage below 1.
What was held goes on %v after the end at the latest.

| | |
|---|--:|
`, r.took.Round(time.Second), number(int64(float64(r.sent)/r.took.Seconds())), hosts*perHost, hosts, watched, hosts*perHost, bytes(int64(o.limit)), drain)
	row := func(name, value string) { fmt.Fprintf(b, "| %s | %s |\n", name, value) }
	row("spans in", number(r.sent))
	row("spans out", number(r.received.Load()))
	row("watched from start to end, and attributed", number(r.whole.Load()))
	row("of these charged otherwise than they were stopped", number(r.wrong.Load()))
	row("watched in part or not at all: coverage tells", number(r.part.Load()))
	row("went on unattributed for want of room, counted", fmt.Sprintf("%s, %s", number(r.bare.Load()), number(r.lost["limit"])))
	row("waited their whole time, by the connector's count", number(r.lost["timeout"]))
	row("of no process that is known", number(r.lost["unknown"]))
	row("events that came twice, counted once", number(r.duplicates))
	row("spans told as slow", number(r.told.Load()))
	row("most that was held, by the connector's count", bytes(r.most(func(s sample) int64 { return s.held })))
	row("live heap of the program: before, most", bytes(r.before.live)+", "+bytes(r.most(func(s sample) int64 { return s.live })))
	row("resident: before, most", bytes(r.before.resident)+", "+bytes(r.most(func(s sample) int64 { return s.resident })))
	b.WriteString("\nThe program is also the load, and what is resident is what its garbage collector (GOGC=100) lets the heap grow to.\n\n")
	b.WriteString("| at | sources | spans held | held | live heap | resident |\n|--:|---|--:|--:|--:|--:|\n")
	step := max(1, len(r.samples)/20)
	for i := step - 1; i < len(r.samples); i += step {
		s, speak := r.samples[i], "speak"
		if s.silent {
			speak = "silent"
		}
		fmt.Fprintf(b, "| %v | %s | %s | %s | %s | %s |\n", s.at.Round(time.Second), speak, number(s.heldSpans), bytes(s.held), bytes(s.live), bytes(s.resident))
	}
	if err := r.verdict(o); err != nil {
		fmt.Fprintf(b, "\n**Not as it has to be:** %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	b.WriteString("\nAgain: `scripts/soak`.\n")
}

// spread returns the median of some figure of rounds, and its range.
func spread(rounds []round, of func(round) float64) (median float64, extent string) {
	v := make([]float64, 0, len(rounds))
	for _, r := range rounds {
		v = append(v, of(r))
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2, count(v[0]) + " to " + count(v[len(v)-1])
}

// count rounds to thousands: the rest is noise.
func count(f float64) string { return number(int64(f/1000+0.5) * 1000) }

// number writes n with commas.
func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func bytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

var modelName = regexp.MustCompile(`(?m)^model name\s*:\s*(.*\S)`)

// machine returns one line of facts about where this runs.
func machine() string {
	model := "unknown processor"
	info, _ := os.ReadFile("/proc/cpuinfo") // there is none but on Linux
	if m := modelName.FindSubmatch(info); m != nil {
		model = string(m[1])
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = []byte("unknown")
	}
	return fmt.Sprintf("%s; %d CPUs; %s/%s, kernel %s; %s; %s", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		strings.TrimSpace(string(kernel)), runtime.Version(), time.Now().UTC().Format(time.DateOnly))
}

// busy returns how many processes of the machine wanted a CPU of late, proc(5),
// as the kernel writes it.
func busy() string {
	text, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); err == nil && len(f) > 0 {
		return f[0]
	}
	return "unknown"
}
