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

// Generation is one generation in one collection, all heaps of the process
// together.
type Generation struct {
	ID GenerationID
	// SizeBefore and SizeAfter hold objects and free space alike.
	SizeBefore, SizeAfter Maybe[Bytes]
	// FragmentationBefore and FragmentationAfter are the free space.
	FragmentationBefore, FragmentationAfter Maybe[Bytes]
	// Promoted is what survived, as the runtime's own sum says.
	Promoted Maybe[Bytes]
	// Survived is what survived, as the heaps' own records say, pinned or not.
	// Zero for a generation that was not collected.
	Survived Maybe[Bytes]
	// Budget is what may be allocated in the generation before the next
	// collection of it.
	Budget Maybe[Bytes]
}
