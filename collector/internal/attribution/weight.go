package attribution

// What is known takes on the heap: the structures themselves, and their part of
// maps, which are at worst half empty.
const (
	stallBytes  = 64 // of stall.Log, an interval
	pauseBytes  = 48
	cgroupBytes = 16 // an id, in a list that may have twice the room
	statusBytes = 64
	spanOfBytes = 16 // a stall.Span

	// logBytes is a source with its first stalls and its unseen spans.
	logBytes = 1408 + firstStalls*stallBytes
	// processBytes is a process with its clocks, and itself in the index of identities.
	processBytes = 1328
	linkedBytes  = 224 // in another index
	// hostBytes is a host.
	hostBytes  = 1408
	probeBytes = 1104 // a probe of a host with its clocks, and its names in the index
	// serviceBytes is a service in the index of sums.
	serviceBytes = 224
	// textBytes, of a string beside its length, is the same as in spans.
)

// weight returns what the names take.
func (id *identity) weight() (n int) {
	for _, s := range [...]string{id.boot, id.hostID, id.hostName, id.container, id.pod, id.name, id.instance, id.service, id.created} {
		if s != "" {
			n += textBytes + len(s)
		}
	}
	return n
}

// weight returns what a process takes without its sources and pauses.
func (p *process) weight() int {
	n := processBytes + p.id.weight()
	for _, l := range p.id.links() {
		if l.how != 0 {
			n += linkedBytes
		}
	}
	return n
}

// owned returns what the sources, pauses and cgroups of a process take.
func (p *process) owned() int {
	n := p.pauses.bytes + len(p.cgroups)*cgroupBytes
	for _, l := range p.runtime {
		if l != nil {
			n += l.bytes
		}
	}
	return n
}
