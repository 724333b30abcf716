package demo

import "math/rand/v2"

// node is one object of the live heap, the size of a small record with its text.
// The collector has to visit each of them in every cycle.
type node struct {
	left, right, peer *node
	key               uint64
	body              [nodeSize - 32]byte
}

const nodeSize = 512 // bytes, a size class of the runtime

// liveHeap holds so many bytes of nodes that point at each other across the
// whole heap.
type liveHeap struct{ nodes []*node }

func newLiveHeap(bytes, seed uint64) *liveHeap {
	n := max(1, int(bytes/(nodeSize+8))) // 8: the pointer in the index
	h := &liveHeap{nodes: make([]*node, n)}
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range h.nodes {
		h.nodes[i] = &node{key: uint64(i)}
	}
	for i, v := range h.nodes {
		v.left = h.nodes[(2*i+1)%n]
		v.right = h.nodes[(2*i+2)%n]
		v.peer = h.nodes[random.IntN(n)]
	}
	return h
}

// walk follows the pointers from one node and returns what it read.
func (h *liveHeap) walk(from uint64, steps int) uint64 {
	v := h.nodes[from%uint64(len(h.nodes))]
	var sum uint64
	for i := range steps {
		sum += v.key + uint64(v.body[i%len(v.body)])
		switch v.key % 3 {
		case 0:
			v = v.left
		case 1:
			v = v.right
		default:
			v = v.peer
		}
	}
	return sum
}
