package gc

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type record struct {
	Before Maybe[Bytes]   `json:"before,omitzero"`
	After  Maybe[Bytes]   `json:"after,omitzero"`
	Share  Maybe[float64] `json:"share"`
}

// What is not known is left out with omitzero; a zero that is known is not.
func ExampleMaybe() {
	b, _ := json.Marshal(record{After: Known(Bytes(0))})
	fmt.Println(string(b))
	// Output: {"after":0,"share":null}
}

func TestMaybe(t *testing.T) {
	var unknown Maybe[int]
	if v, ok := unknown.Get(); v != 0 || ok {
		t.Errorf("zero Maybe: got %v, %v, want not known", v, ok)
	}
	if got := unknown.Or(7); got != 7 || !unknown.IsZero() {
		t.Errorf("zero Maybe: got %v, %v, want 7, true", got, unknown.IsZero())
	}
	zero := Known(0)
	if v, ok := zero.Get(); v != 0 || !ok {
		t.Errorf("known zero: got %v, %v, want 0, true", v, ok)
	}
	if got := zero.Or(7); got != 0 || zero.IsZero() {
		t.Errorf("known zero: got %v, %v, want 0, false", got, zero.IsZero())
	}
}

func TestMaybeJSON(t *testing.T) {
	compare := cmp.AllowUnexported(Maybe[Bytes]{}, Maybe[float64]{})
	for _, want := range []record{
		{},
		{After: Known(Bytes(0))},
		{Before: Known(Bytes(1 << 63)), After: Known(Bytes(2)), Share: Known(0.5)},
	} {
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got record
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, compare); diff != "" {
			t.Errorf("through %s (-want +got):\n%s", b, diff)
		}
	}
}

func TestMaybeJSONIsReplacedByNull(t *testing.T) {
	m := Known(3)
	if err := json.Unmarshal([]byte("null"), &m); err != nil || !m.IsZero() {
		t.Errorf("null over a known value: got %v, %v, want not known", m, err)
	}
	if err := json.Unmarshal([]byte(`"three"`), &m); err == nil || !m.IsZero() {
		t.Errorf("a string as a number: got %v, %v, want an error and not known", m, err)
	}
}
