package gc

import "encoding/json"

// Maybe is a value that may not be known. The zero Maybe is not known.
type Maybe[T any] struct {
	value T
	known bool
}

// Known returns v as a known value.
func Known[T any](v T) Maybe[T] { return Maybe[T]{v, true} }

// Get returns the value and whether it is known.
func (m Maybe[T]) Get() (T, bool) { return m.value, m.known }

// Or returns the value, or otherwise if it is not known.
func (m Maybe[T]) Or(otherwise T) T {
	if m.known {
		return m.value
	}
	return otherwise
}

// IsZero reports whether the value is not known, so that the json tag omitzero
// leaves the field out.
func (m Maybe[T]) IsZero() bool { return !m.known }

// MarshalJSON encodes the value; one that is not known is null.
func (m Maybe[T]) MarshalJSON() ([]byte, error) {
	if !m.known {
		return []byte("null"), nil
	}
	return json.Marshal(m.value)
}

// UnmarshalJSON decodes a value; null is not known.
func (m *Maybe[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*m = Maybe[T]{}
		return nil
	}
	if err := json.Unmarshal(b, &m.value); err != nil {
		return err
	}
	m.known = true
	return nil
}
