package report

import "time"

// Latency sums up the requests of one range of latency.
type Latency struct {
	Title   string        `json:"latency"`
	UpTo    time.Duration `json:"up_to"` // the slowest of them
	Count   int           `json:"requests"`
	Hit     int           `json:"affected"`            // a pause overlapped it, or it worked for the collector
	Several int           `json:"several_collections"` // pauses of two collections or more did
	Time    time.Duration `json:"time"`                // of all of them
	HitTime time.Duration `json:"affected_time"`       // of those that were hit
	GC      time.Duration `json:"gc_time"`             // that garbage collection cost them at most
}

// latencies are the ranges, by the permille of requests that are not slower.
var latencies = [...]struct {
	title    string
	permille int
}{{"to p50", 500}, {"p50-p90", 900}, {"p90-p99", 990}, {"p99-p99.9", 999}, {"above", 1000}}

// latenciesOf sums up requests, which are in order from the fastest to the
// slowest: all of them, then each range. A range above which fewer than beyond
// lie is not parted from the next one.
func latenciesOf(list []request) []Latency {
	if len(list) == 0 {
		return nil
	}
	rows := []Latency{latencyOf("all", list)}
	from, name := 0, ""
	for _, l := range latencies {
		to := (len(list)*l.permille + 999) / 1000
		if name == "" {
			name = l.title
		}
		if l.permille < 1000 && len(list)*(1000-l.permille) < beyond*1000 {
			continue
		}
		if l.permille == 1000 {
			name = lastTitle(name)
		}
		if to > from && name != "" {
			rows = append(rows, latencyOf(name, list[from:to]))
		}
		from, name = to, ""
	}
	return rows
}

// lastTitle names what is above the last percentile that there is, empty if there
// is none.
func lastTitle(first string) string {
	for i, l := range latencies {
		switch {
		case l.title != first:
		case i == 0:
			return ""
		case i < len(latencies)-1:
			return "above " + [...]string{"", "p50", "p90", "p99"}[i]
		}
	}
	return "above p99.9"
}

func latencyOf(title string, list []request) Latency {
	l := Latency{Title: title, UpTo: list[len(list)-1].Duration(), Count: len(list)}
	for i := range list {
		q := &list[i]
		l.Time += q.Duration()
		gc := q.paused + q.worked
		if gc == 0 {
			continue
		}
		l.Hit++
		l.HitTime += q.Duration()
		l.GC += gc
		if q.collections > 1 {
			l.Several++
		}
	}
	return l
}

// of returns part/whole, 0 for no whole.
func of[T int | time.Duration](part, whole T) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
