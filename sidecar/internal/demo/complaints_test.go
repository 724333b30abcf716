package demo

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComplaints(t *testing.T) {
	var c complaints
	c.Handle(errors.New("otelgc: the machine was held up"))
	c.Handle(errors.New("otelgc: the machine was held up"))
	if diff := cmp.Diff([]string{"the machine was held up"}, c.list()); diff != "" {
		t.Errorf("complaints (-want +got):\n%s", diff)
	}
	for i := range 2 * mostComplaints {
		c.Handle(fmt.Errorf("number %d", i))
	}
	if n := len(c.list()); n != mostComplaints {
		t.Errorf("%d are kept, want %d", n, mostComplaints)
	}
}
