package demo

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
)

// The allocation mix of a request: many small objects that die with it, one
// that lives for a second or two, and now and then a large array.
const (
	smallObjects  = 300
	sessions      = 2048    // how many of the middle generation are kept
	linesKept     = 16      // of each
	largeEvery    = 64      // one request in so many
	largeBytes    = 100_000 // above 85,000, where other runtimes keep them apart
	largeKept     = 16
	walkSteps     = 64
	arrivalHeader = "X-Request-Arrival-Monotonic"
)

// service is the sample service: a JSON handler over a live heap.
type service struct {
	heap *liveHeap
	seed uint64

	mu       sync.Mutex
	sessions [sessions]*session
	large    [largeKept][]byte
	next     uint64
}

// session is what is kept of a request for a while: one object, of a size that no
// other has. Small ones would lie in spans among objects that die young, so that a
// thousand spans would be swept in each cycle for two thousand sessions.
type session struct {
	ID     uint64
	Region string
	Lines  [linesKept]line
}

type line struct {
	ID    uint64
	Price float64
}

type item struct {
	ID    uint64   `json:"id"`
	Name  string   `json:"name"`
	Price float64  `json:"price"`
	Tags  []string `json:"tags,omitempty"`
	next  *item
}

type answer struct {
	ID    uint64  `json:"id"`
	Sum   uint64  `json:"sum"`
	Items []*item `json:"items"`
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.URL.Query().Get("id"), 10, 64)
	if err != nil {
		http.Error(w, "id: want a number", http.StatusBadRequest)
		return
	}
	random := rand.New(rand.NewPCG(s.seed, id))
	items := smalls(random)
	s.keep(id, items, random)
	body, err := json.Marshal(answer{ID: id, Sum: s.heap.walk(random.Uint64(), walkSteps), Items: items[:8]})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client is gone if not, and knows
}

// smalls allocates the objects that die young.
func smalls(random *rand.Rand) []*item {
	var list []*item
	var last *item
	for i := range smallObjects {
		last = &item{ID: random.Uint64(), Name: "item " + strconv.Itoa(i), Price: random.Float64(), next: last}
		if i%4 == 0 {
			last.Tags = []string{"small", strconv.FormatUint(last.ID%100, 10)}
		}
		list = append(list, last)
	}
	return list
}

// keep puts an object in the place of one that was kept a while ago.
func (s *service) keep(id uint64, items []*item, random *rand.Rand) {
	kept := &session{ID: id, Region: "eu"}
	for n := range kept.Lines {
		kept.Lines[n] = line{items[n].ID, items[n].Price}
	}
	var large []byte
	if random.IntN(largeEvery) == 0 {
		large = make([]byte, largeBytes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[s.next%sessions] = kept
	if large != nil {
		s.large[s.next/largeEvery%largeKept] = large
	}
	s.next++
}

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
