package shop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
)

// Body is a request: an order of eight lines.
var Body = []byte(`{"customer":"c-20417","currency":"EUR","lines":[` +
	`{"sku":"A-1001","name":"bolt, hex, M8 x 40","quantity":40,"price":12},{"sku":"A-1002","name":"nut, M8","quantity":40,"price":4},` +
	`{"sku":"A-1003","name":"washer, M8","quantity":80,"price":2},{"sku":"B-0007","name":"spanner, 13 mm","quantity":1,"price":899},` +
	`{"sku":"C-3310","name":"thread locker, 10 ml","quantity":2,"price":649},{"sku":"D-0042","name":"drill, HSS, 8 mm","quantity":3,"price":310},` +
	`{"sku":"E-9000","name":"gloves, size 9","quantity":2,"price":450},{"sku":"F-0001","name":"delivery","quantity":1,"price":590}]}`)

// remembered is how many orders live on: those that are neither short-lived nor
// there forever.
const remembered = 2048

type line struct {
	SKU      string `json:"sku"`
	Name     string `json:"name"`
	Quantity int    `json:"quantity"`
	Price    int    `json:"price"`
	Total    int    `json:"total"`
}

// Order is a request and, priced, its answer.
type Order struct {
	ID       int64             `json:"id"`
	Customer string            `json:"customer"`
	Currency string            `json:"currency"`
	Lines    []line            `json:"lines"`
	Total    int               `json:"total"`
	Notes    []string          `json:"notes"`
	Index    map[string]string `json:"-"`
}

// Orders prices orders, and remembers the last ones.
type Orders struct {
	served atomic.Int64
	mu     sync.Mutex
	recent [remembered]*Order
}

// ServeHTTP decodes an order, prices it, remembers it, and answers with it.
func (s *Orders) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var o Order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	s.Place(&o)
	answer, err := json.Marshal(&o)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = rw.Write(answer) // the client may have gone
}

// Place prices an order, and remembers it.
func (s *Orders) Place(o *Order) {
	o.ID = s.served.Add(1)
	o.price()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent[o.ID%remembered] = o
}

func (o *Order) price() {
	o.Index = make(map[string]string, len(o.Lines))
	for i := range o.Lines {
		l := &o.Lines[i]
		l.Total = l.Quantity * l.Price
		o.Total += l.Total
		o.Index[l.SKU] = l.Name
		o.Notes = append(o.Notes, fmt.Sprintf("%d x %s at %d.%02d", l.Quantity, l.Name, l.Price/100, l.Price%100))
	}
}

// Served returns how many were priced.
func (s *Orders) Served() int64 { return s.served.Load() }

// Node is a piece of the long-lived heap: 64 bytes, a third of them pointers.
type Node struct {
	left, right *Node
	_           [48]byte
}

// Grow returns a tree of about mb megabytes, which every collection has to mark.
func Grow(mb int) *Node {
	var root *Node
	for range mb << 20 / 64 {
		root = &Node{left: root}
		if root.left != nil {
			root.right = root.left.left
		}
	}
	return root
}
