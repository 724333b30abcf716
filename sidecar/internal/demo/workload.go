package demo

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
)

const arrivalHeader = "X-Request-Arrival-Monotonic"

// shop is the sample service: it answers orders, over a live heap of many small records
// that the collector visits in each cycle. Most orders are small; some are big, and
// allocate a multiple of what others do.
type shop struct {
	catalog []*product
	seed    uint64
	collect bool // a big order calls runtime.GC
	forced  atomic.Uint64
}

type product struct {
	related [4]*product
	id      int
	name    string
	_       [64]byte // what else there is to say of it
}

const (
	productSize = 120 + 8 // bytes, with the pointer in the catalog, without its name
	smallOrder  = 10      // lines
	bigOrder    = 40_000  // of about 250 bytes each
	bigEvery    = 40      // one order in so many is big: those above p99 are among them
	linesShown  = 10
)

type line struct {
	Product int      `json:"product"`
	Name    string   `json:"name"`
	Price   float64  `json:"price"`
	Tags    []string `json:"tags"`
}

// newShop returns a shop whose catalog takes so many bytes. Its orders depend on seed.
func newShop(bytes, seed uint64) *shop {
	s := &shop{catalog: make([]*product, max(1, bytes/productSize)), seed: seed}
	for i := range s.catalog {
		s.catalog[i] = &product{id: i, name: "product " + strconv.Itoa(i)}
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for _, p := range s.catalog {
		for k := range p.related {
			p.related[k] = s.catalog[random.IntN(len(s.catalog))]
		}
	}
	return s
}

// ServeHTTP answers with the first lines of an order, and its sum.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.URL.Query().Get("id"), 10, 64)
	if err != nil {
		http.Error(w, "id: want a number", http.StatusBadRequest)
		return
	}
	random := rand.New(rand.NewPCG(s.seed, id))
	lines, big := smallOrder, random.IntN(bigEvery) == 0
	if big && s.collect {
		runtime.GC()
		s.forced.Add(1)
	} else if big {
		lines = bigOrder
	}
	order := s.order(lines, random)
	sum := 0.0
	for _, l := range order {
		sum += l.Price
	}
	body, err := json.Marshal(struct {
		ID    uint64
		Sum   float64
		Lines []*line
	}{id, sum, order[:linesShown]})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client is gone if not, and knows
}

func (s *shop) order(lines int, random *rand.Rand) []*line {
	order := make([]*line, lines)
	p := s.catalog[random.IntN(len(s.catalog))]
	for i := range order {
		p = p.related[i%len(p.related)]
		order[i] = &line{
			Product: p.id, Name: p.name + ", line " + strconv.Itoa(i),
			Price: float64(p.id%1000) / 10, Tags: []string{"order", strconv.Itoa(i)},
		}
	}
	return order
}
