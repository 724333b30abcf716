package recording

import (
	"encoding/json"
	"fmt"

	"github.com/otelgc/otelgc/internal/gcjson"
)

// collectionJSON is the payload of a Collection.
type collectionJSON struct {
	Target int `json:"target"`
	gcjson.Collection
}

func encodeCollection(c Collection) ([]byte, error) {
	return json.Marshal(collectionJSON{c.Target, gcjson.New(&c.GC)})
}

func parseCollection(b []byte) (Record, error) {
	var form collectionJSON
	if err := json.Unmarshal(b, &form); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	c, err := form.GC()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return Collection{form.Target, c}, nil
}
