package gotrace

import "github.com/otelgc/otelgc/stall"

// Task is the begin or the end of a user task (trace.NewTask). The goroutine that
// begins one without a parent is followed from then on, unless no tracks are wanted:
// when the task has ended, it is for the caller to [Reader.Unfollow] it.
//
// A task may end on another goroutine than it began on, more than once, or in
// another generation. One that was begun before the trace has an end only, and one
// that goes on behind it only a begin. Libraries that begin tasks only while a trace
// runs, as the OpenTelemetry SDK does for its spans, begin one without a parent, too,
// where the parent is older than the trace.
type Task struct {
	At        stall.Instant
	Goroutine uint64
	ID        uint64
	Parent    uint64 // the task that it is part of, 0 if none; 0 at an end, too
	Name      string // empty at an end: it is not repeated there
	End       bool
}

// userTask is an edge of a task whose name is not known yet.
type userTask struct {
	g, id, parent, name uint64
	at                  ticks
	end                 bool
}

// root reports whether a task without a parent begins.
func (u *userTask) root() bool { return !u.end && u.parent == 0 }

func (d *decoder) userTask(u userTask) {
	switch {
	case !d.tasking:
	case len(d.tasks) < d.limits.Records:
		d.tasks = append(d.tasks, u)
	default:
		d.lost.Tasks++
	}
}

// resolveTasks reports the tasks and starts to follow the goroutines of those
// without a parent, if there are to be Tracks.
func (d *decoder) resolveTasks(g *Generation) {
	for i := range d.tasks {
		u := &d.tasks[i]
		t := Task{At: d.clock.instant(u.at), Goroutine: u.g, ID: u.id, Parent: u.parent, End: u.end}
		if !u.end {
			t.Name = d.text(u.name)
		}
		g.Tasks = append(g.Tasks, t)
		if d.tracking && u.root() {
			d.follow(u.g)
		}
	}
	g.Tasks = d.taskOrder.sort(g.Tasks, func(a, b *Task) bool { return a.At < b.At })
}
