package gc

import "fmt"

// GenerationID names one part of a generational heap. The names are those of
// the OpenTelemetry registry (dotnet.gc.heap.generation).
type GenerationID uint8

const (
	Gen0 GenerationID = iota
	Gen1
	Gen2
	LOH // large objects
	POH // pinned objects (.NET 5 and later)
	NumGenerations
)

var generationNames = [NumGenerations]string{"gen0", "gen1", "gen2", "loh", "poh"}

// String returns the name of g in the telemetry contract.
func (g GenerationID) String() string {
	if g < NumGenerations {
		return generationNames[g]
	}
	return fmt.Sprintf("generation(%d)", uint8(g))
}

// MarshalText encodes g by its name.
func (g GenerationID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText decodes a name.
func (g *GenerationID) UnmarshalText(name []byte) error {
	return parseName(g, "generation", generationNames[:], name)
}

// Generation is one generation in one collection, all heaps of the process
// together.
type Generation struct {
	ID GenerationID `json:"gen"`
	// SizeBefore and SizeAfter hold objects and free space alike.
	SizeBefore Maybe[Bytes] `json:"size_before,omitzero"`
	SizeAfter  Maybe[Bytes] `json:"size_after,omitzero"`
	// FragmentationBefore and FragmentationAfter are the free space.
	FragmentationBefore Maybe[Bytes] `json:"fragmentation_before,omitzero"`
	FragmentationAfter  Maybe[Bytes] `json:"fragmentation_after,omitzero"`
	// Promoted is what survived, as the runtime's own sum says.
	Promoted Maybe[Bytes] `json:"promoted,omitzero"`
	// Survived is what survived, as the heaps' own records say, pinned or not.
	// Zero for a generation that was not collected.
	Survived Maybe[Bytes] `json:"survived,omitzero"`
	// Budget is what may be allocated in the generation before the next
	// collection of it.
	Budget Maybe[Bytes] `json:"budget,omitzero"`
}
