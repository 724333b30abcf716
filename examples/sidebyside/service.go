package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// catalog is what the service keeps alive: many small records that point at each
// other, each of which the collector visits in every cycle.
type catalog struct{ products []*product }

type product struct {
	related [4]*product
	id      int
	name    string
	_       [48]byte // what else there is to say of it
}

const products = 500_000

func newCatalog() *catalog {
	c := &catalog{products: make([]*product, products)}
	for i := range c.products {
		c.products[i] = &product{id: i, name: "product"}
	}
	for i, p := range c.products {
		for k := range p.related {
			p.related[k] = c.products[(i*7919+k*104729)%products]
		}
	}
	return c
}

// line is one line of an order.
type line struct {
	Product int      `json:"product"`
	Name    string   `json:"name"`
	Price   float64  `json:"price"`
	Tags    []string `json:"tags"`
}

// bigOrder is how many lines one order in bigEvery has; the others have ten.
const (
	bigOrder = 20_000
	bigEvery = 50
)

// handler answers GET /order?id=N with the lines of an order.
func (c *catalog) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /order", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.FormValue("id"))
		if err != nil || id < 0 {
			http.Error(w, "id: want a number", http.StatusBadRequest)
			return
		}
		n := 10
		if id%bigEvery == 0 {
			n = bigOrder
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.order(id, n)) // the client is gone if not
	})
	return mux
}

func (c *catalog) order(id, n int) []*line {
	lines := make([]*line, 0, n)
	p := c.products[id%products]
	for i := range n {
		p = p.related[i%len(p.related)]
		lines = append(lines, &line{
			Product: p.id, Name: fmt.Sprintf("%s %d", p.name, p.id),
			Price: float64(p.id%1000) / 10, Tags: []string{"order " + strconv.Itoa(id), "line " + strconv.Itoa(i)},
		})
	}
	return lines
}
