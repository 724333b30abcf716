package gotrace

import "unsafe"

// Held returns how many bytes the lists of r may take: of the generation that was
// read last, of what is carried from one to the next, and of what is kept to be used
// again. Texts are counted once, by the tables that they came from.
func (r *Reader) Held() int {
	d, g := &r.decoder, &r.out
	n := cap(r.src.buf) + tableBytes(&d.strings) + tableBytes(&d.stacks)
	n += room(d.stops) + room(d.handoffs) + room(d.ends) + room(d.cycles) + room(d.collections) + room(d.sweeps) +
		room(d.assists) + room(d.doneAssists) + room(d.workers) + room(d.logs) + room(d.tasks) + room(d.pairs) + room(d.frameBuf) +
		room(d.heap.list) + room(d.goals.list) + room(d.threads.free)
	n += (len(d.transitions.chunks)+len(d.transitions.free))*int(unsafe.Sizeof([transitionChunk]transition{})) +
		room(d.transitions.chunks) + room(d.transitions.free)
	p := &d.picker
	n += room(p.ids) + room(p.first) + room(p.count) + room(p.from) + room(p.top) + room(p.base) + room(p.slots) +
		room(p.picked) + room(p.table.keys) + room(p.table.index)
	n += entries(d.thinned) + entries(d.standIns) + entries(d.standNext) + entries(d.followed) + entries(d.asked) +
		entries(d.collects) + entries(d.openAssists) + entries(d.threads.byID) + entries(d.names.known)
	n += (len(d.threads.byID) + len(d.threads.free)) * int(unsafe.Sizeof(thread{}))
	n += room(g.Stops) + room(g.Cycles) + room(g.Workers) + room(g.Ranges) + room(g.Marks) + room(g.Tasks) + room(g.Tracks) +
		room(g.Turns) + room(g.Heap) + room(g.Goals)
	return n + merging(&d.stopOrder) + merging(&d.workerOrder) + merging(&d.rangeOrder) + merging(&d.markOrder) + merging(&d.taskOrder)
}

func merging[T any](m *merger[T]) int { return room(m.scratch) + room(m.runs) }

func tableBytes(t *table) int { return cap(t.data) + room(t.ends) + room(t.first) + room(t.refs) }

func room[T any](s []T) int {
	var one T
	return cap(s) * int(unsafe.Sizeof(one))
}

// entries is what a map takes, about half of it unused.
func entries[K comparable, V any](m map[K]V) int {
	var k K
	var v V
	return len(m) * 2 * int(unsafe.Sizeof(k)+unsafe.Sizeof(v)+1)
}
