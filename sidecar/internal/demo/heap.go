package demo

import "math/rand/v2"

// entry is one object of the live heap: a record in a cache, with its links to
// others and the text that it holds.
type entry struct {
	left, right, peer *entry
	key               uint64
	text              []byte
}

// The texts are as long as pictures are: some MiB. The collector visits every entry
// in each cycle and only notes that its text is alive, since bytes hold no pointers;
// so it is with most of what caches hold. Each text is a span to sweep, and
// runtime.GC lets others run after every one.
const (
	shortestText = 512 << 10
	longestText  = 1536 << 10
	entrySize    = 64 + 8 // bytes: of the object, a size class of the runtime, and of the pointer in the index
)

// liveHeap holds so many bytes of entries that point at each other across the
// whole heap.
type liveHeap struct{ entries []*entry }

func newLiveHeap(bytes, seed uint64) *liveHeap {
	h := &liveHeap{}
	random := rand.New(rand.NewPCG(seed, 1))
	for held := uint64(0); held < bytes || len(h.entries) == 0; {
		text := make([]byte, shortestText+random.IntN(longestText-shortestText))
		h.entries = append(h.entries, &entry{key: uint64(len(h.entries)), text: text})
		held += entrySize + uint64(len(text))
	}
	n := len(h.entries)
	for i, v := range h.entries {
		v.left = h.entries[(2*i+1)%n]
		v.right = h.entries[(2*i+2)%n]
		v.peer = h.entries[random.IntN(n)]
	}
	return h
}

// walk follows the pointers from one entry and returns what it read.
func (h *liveHeap) walk(from uint64, steps int) uint64 {
	v := h.entries[from%uint64(len(h.entries))]
	var sum uint64
	for i := range steps {
		sum += v.key + uint64(v.text[i%len(v.text)])
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
