package attribution

import "time"

// differ reports whether two names are both known, and not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// contradicts reports whether a and b cannot be the same process.
func (id *identity) contradicts(o *identity) bool {
	return id.number != 0 && o.number != 0 && id.number != o.number ||
		differ(id.container, o.container) || differ(id.pod, o.pod) || differ(id.name, o.name) ||
		differ(id.instance, o.instance) || differ(id.boot, o.boot) || bornApart(id.created, o.created)
}

// strange reports whether a and b go by other names than one resource has: those of
// a process that tells of itself are the same on its events and on its spans.
func (id *identity) strange(o *identity) bool {
	return differ(id.hostID, o.hostID) || differ(id.hostName, o.hostName) || differ(id.service, o.service)
}

// birthError is how far two accounts of when a process was made may be apart:
// one is from the boot time in whole seconds.
const birthError = 2 * time.Second

// bornApart reports whether two creation times are those of two processes.
func bornApart(a, b string) bool {
	if a == "" || b == "" || a == b {
		return false
	}
	x, err1 := time.Parse(time.RFC3339Nano, a)
	y, err2 := time.Parse(time.RFC3339Nano, b)
	return err1 != nil || err2 != nil || x.Sub(y).Abs() > birthError
}

// contained reports whether the process is in a container: its pid is then that
// of another namespace, in which there is one of each number too. Pid 1 of a
// machine is none that is watched.
func (id *identity) contained() bool { return id.container != "" || id.pod != "" || id.number == 1 }

// proves reports whether a and b name the same process beside their pids.
func (id *identity) proves(o *identity) bool {
	same := func(a, b string) bool { return a != "" && a == b }
	return same(id.created, o.created) || same(id.instance, o.instance) ||
		same(id.container, o.container) || same(id.pod, o.pod) && id.name == o.name
}
