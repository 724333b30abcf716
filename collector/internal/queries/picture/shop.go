package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// products are what the shop keeps at first: small records that point at each
// other, each of which the collector visits in every cycle.
const products = 150_000

type product struct {
	related [4]*product
	id      int
	name    string
	_       [48]byte // what else there is to say of it
}

type shop struct{ catalog atomic.Pointer[[]*product] }

func newShop() *shop {
	s := new(shop)
	s.keep(products)
	return s
}

// keep puts n products in the place of those that were there.
func (s *shop) keep(n int) {
	catalog := make([]*product, n)
	for i := range catalog {
		catalog[i] = &product{id: i, name: "product"}
	}
	for i, p := range catalog {
		for k := range p.related {
			p.related[k] = catalog[(i*7919+k*104729)%n]
		}
	}
	s.catalog.Store(&catalog)
}

type line struct {
	Product int      `json:"product"`
	Name    string   `json:"name"`
	Price   float64  `json:"price"`
	Tags    []string `json:"tags"`
}

// handler answers GET /order?id=N with the lines of an order. One in ten asks a
// slow neighbour first, one in forty is large.
func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /order", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.FormValue("id"))
		if err != nil || id < 0 {
			http.Error(w, "id: want a number", http.StatusBadRequest)
			return
		}
		lines := 40
		switch {
		case id%40 == 0:
			lines = 20_000
		case id%8 == 0:
			lines = 1_500
		case id%10 == 1:
			time.Sleep(time.Duration(id%7+1) * 9 * time.Millisecond)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.order(id, lines)) // the client is gone if not
	})
	return mux
}

func (s *shop) order(id, n int) []*line {
	catalog := *s.catalog.Load()
	lines := make([]*line, 0, n)
	p := catalog[id%len(catalog)]
	for i := range n {
		p = p.related[i%len(p.related)]
		lines = append(lines, &line{
			Product: p.id, Name: fmt.Sprintf("%s %d", p.name, p.id), Price: float64(p.id%1000) / 10,
			Tags: []string{"order " + strconv.Itoa(id), "line " + strconv.Itoa(i)},
		})
	}
	return lines
}
