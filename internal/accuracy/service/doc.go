// Package service is the program under measurement: a small order service of
// net/http and encoding/json, run as a child process that says what it used.
//
// The child is the same binary: a program that uses [Start] must call [Main]
// first. Parent and child speak over the child's standard input and output: a
// command per line one way, a JSON document per line the other. When its input
// ends, the child does.
package service

import "time"

// Spec says what the child is to be. It travels as JSON.
type Spec struct {
	Monitor bool    // run otelgc
	Budget  float64 // exact budget of it; below zero is the default
	LiveMB  int     // size of the long-lived heap
	Idle    int     // goroutines that do nothing
	Forced  int     // garbage collections to force per second
	Probe   string  // mode of a jitter probe in the process, or Goroutine; empty for none
}

// Part is what the process did in some time.
type Part struct {
	Wall   time.Duration
	CPU    time.Duration // user and system time of the process (getrusage)
	Served int64         // requests
}

// PerRequest returns the CPU time of one request; zero if none was served.
func (p Part) PerRequest() time.Duration {
	if p.Served == 0 {
		return 0
	}
	return p.CPU / time.Duration(p.Served)
}

// Cores returns the number of CPUs in use.
func (p Part) Cores() float64 { return p.CPU.Seconds() / p.Wall.Seconds() }

func (p Part) add(q Part) Part {
	return Part{p.Wall + q.Wall, p.CPU + q.CPU, p.Served + q.Served}
}

func (p Part) sub(q Part) Part {
	return Part{p.Wall - q.Wall, p.CPU - q.CPU, p.Served - q.Served}
}

// Usage is what the process did since its start.
type Usage struct {
	All    Part
	Traced Part   // the part of All during which the process was traced
	Slices int    // times that tracing began
	Cycles uint64 // garbage collections
	// Stopping and Stops count stop-the-world pauses for garbage collection by
	// length: the time until all had stopped, and the whole. The buckets are
	// those of the runtime's metric of this Go version.
	Stopping, Stops []uint64
	// AtSlice says that the usage was read when a tracing slice began.
	AtSlice bool
	Note    string // of the jitter probe: why it is not as asked for
}

// Sub returns what the process did between o and u.
func (u Usage) Sub(o Usage) Usage {
	d := u
	d.All, d.Traced = u.All.sub(o.All), u.Traced.sub(o.Traced)
	d.Slices, d.Cycles = u.Slices-o.Slices, u.Cycles-o.Cycles
	d.Stopping, d.Stops = Subtract(u.Stopping, o.Stopping), Subtract(u.Stops, o.Stops)
	d.AtSlice = u.AtSlice && o.AtSlice
	return d
}

// Subtract returns a - b, bucket by bucket.
func Subtract(a, b []uint64) []uint64 {
	d := make([]uint64, len(a))
	for i := range d {
		d[i] = a[i]
		if i < len(b) {
			d[i] -= b[i]
		}
	}
	return d
}

// Untraced returns the part of u in which the process was not traced.
func (u Usage) Untraced() Part { return u.All.sub(u.Traced) }
