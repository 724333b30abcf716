package attribution

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config says how long and how much an Attributor keeps. The zero value of each
// field means its default.
type Config struct {
	// Wait bounds how long a span is held for the sources of its host. Events
	// that come later than that are too late.
	Wait time.Duration `mapstructure:"wait"`
	// MaxSpans and MaxBytes bound what is held; over them spans go on
	// unattributed, counted. MaxBytes is of memory, not of what was sent, and of
	// all that is kept: what is known of hosts and processes has up to half, and
	// an eighth in any case.
	MaxSpans int `mapstructure:"max_spans"`
	MaxBytes int `mapstructure:"max_bytes"`
	// MaxHosts and MaxProcesses (of all hosts) bound what is known at a time, at
	// about 13 kB for a quiet Go process and up to 180 kB for a busy one. Over
	// them, and over half of MaxBytes, a newcomer takes the place of the one that
	// was silent longest, if it says nothing any more, or, if its host has reported for
	// a second, of one of the host that has most; else it is not known, counted.
	// MaxServices bounds the series, and so does an eighth of MaxBytes: over it
	// services are counted under one name.
	MaxHosts     int `mapstructure:"max_hosts"`
	MaxProcesses int `mapstructure:"max_processes"`
	MaxServices  int `mapstructure:"max_services"`
	// SlowSpan is the duration from which a span is reported as an event with the
	// sentence that explains it. Zero reports none.
	SlowSpan time.Duration `mapstructure:"slow_span"`
	// Probes says which probes speak for their host, and which senders may report what
	// the machine did to another process: all that say they are one, or those that an
	// agent stamped (otelgc.stamp). A probe without the stamp speaks for its own
	// process then.
	Probes string `mapstructure:"probes"`
	// Count says which server and consumer spans are requests to count: all, or
	// those of processes without otelgc in them (attached), where the others
	// count their requests themselves.
	Count string `mapstructure:"count"`
}

// Values of Config.Count.
const (
	CountAll      = "all"
	CountAttached = "attached"
)

// Values of Config.Probes.
const (
	ProbesAll     = "all"
	ProbesStamped = "stamped"
)

// Default returns the defaults.
func Default() Config {
	return Config{
		Wait:         10 * time.Second,
		MaxSpans:     200_000,
		MaxBytes:     256 << 20,
		MaxHosts:     1024,
		MaxProcesses: 16_384,
		MaxServices:  1024,
		Probes:       ProbesAll,
		Count:        CountAll,
	}
}

// withDefaults fills in what is zero.
func (c Config) withDefaults() Config {
	d := Default()
	c.Wait = cmp.Or(c.Wait, d.Wait)
	c.MaxSpans, c.MaxBytes = cmp.Or(c.MaxSpans, d.MaxSpans), cmp.Or(c.MaxBytes, d.MaxBytes)
	c.MaxHosts, c.MaxProcesses = cmp.Or(c.MaxHosts, d.MaxHosts), cmp.Or(c.MaxProcesses, d.MaxProcesses)
	c.MaxServices = cmp.Or(c.MaxServices, d.MaxServices)
	c.Probes, c.Count = cmp.Or(c.Probes, d.Probes), cmp.Or(c.Count, d.Count)
	return c
}

// Validate says everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, f := range []struct {
		name string
		v    int
	}{
		{"max_spans", c.MaxSpans}, {"max_bytes", c.MaxBytes}, {"max_hosts", c.MaxHosts},
		{"max_processes", c.MaxProcesses}, {"max_services", c.MaxServices},
	} {
		check(f.v >= 0, "%s %d: want 0 (the default) or more", f.name, f.v)
	}
	check(c.Wait >= 0 && c.Wait <= maxWait, "wait %v: want 0s (the default) to %v", c.Wait, maxWait)
	check(c.SlowSpan >= 0, "slow_span %v: want 0s (none) or more", c.SlowSpan)
	w := c.withDefaults()
	check(w.Probes == ProbesAll || w.Probes == ProbesStamped, "probes %q: want %s (the default) or %s", c.Probes, ProbesAll, ProbesStamped)
	check(w.Count == CountAll || w.Count == CountAttached, "count %q: want %s (the default) or %s", c.Count, CountAll, CountAttached)
	return errors.Join(errs...)
}

const maxWait = 5 * time.Minute
