package attribution

// link is one way in which a span finds its process.
type link struct {
	how  how
	a, b string
	pid  int32
	// stamped links lead to processes of which a stamped sender tells.
	stamped bool
}

type how uint8

const (
	byBoot      how = iota + 1 // boot id and pid
	byContainer                // container id
	byPod                      // pod and container name
	byHost                     // id or name of the host, and pid
)

// links returns the ways in which id can be found, the surest first. With a
// boot id a pid says all; a container stands in for a pid, as pids count from 1
// in each.
func (id *identity) links() (all [5]link) {
	if id.boot != "" && id.number != 0 {
		all[0] = link{how: byBoot, a: id.boot, pid: id.number}
	}
	if id.container != "" {
		all[1] = link{how: byContainer, a: id.container}
	}
	if id.pod != "" {
		all[2] = link{how: byPod, a: id.pod, b: id.name}
	}
	if id.number != 0 && id.hostID != "" {
		all[3] = link{how: byHost, a: "id", b: id.hostID, pid: id.number}
	}
	if id.number != 0 && id.hostName != "" {
		all[4] = link{how: byHost, a: "name", b: id.hostName, pid: id.number}
	}
	for i := range all {
		all[i].stamped = id.stamped
	}
	return all
}
