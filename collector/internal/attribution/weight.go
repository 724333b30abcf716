package attribution

// The sizes on the heap of hosts and processes, with their part of the maps, which are at
// worst half empty.
const (
	cgroupBytes = 16 // an id, in a list that may have twice the room
	// processBytes is a process with its clocks, and itself in the index of identities.
	processBytes = 1392
	linkedBytes  = 224 // in another index
	hostBytes    = 1408
	probeBytes   = 1104 // a probe of a host with its clocks, and its names in the index
)

// weight returns what a process takes without its sources, pauses and traced requests.
func (p *process) weight() int {
	n := processBytes + p.id.Weight()
	for _, l := range p.id.Links() {
		if l.Kind != 0 {
			n += linkedBytes
		}
	}
	return n
}

// owned returns what the sources, pauses, traced requests and cgroups of a process take.
func (p *process) owned() int {
	n := p.pauses.Bytes + p.traced.Bytes + len(p.cgroups)*cgroupBytes
	for _, l := range p.runtime {
		if l != nil {
			n += l.Bytes
		}
	}
	return n
}
