package nettrace

// The named defaults of [Limits], and the limits of the package itself.
const (
	// DefaultBlockBytes is the largest block of format 6. The runtime keeps
	// its blocks of formats 4 and 5 near 100 kB (ep-block.c).
	DefaultBlockBytes = 1<<24 - 1
	// DefaultHeldEvents and DefaultHeldBytes are above what one flush of a
	// session with the runtime's usual buffer holds.
	DefaultHeldEvents = 1 << 18
	DefaultHeldBytes  = 32 << 20
	DefaultMetadata   = 1 << 16
	DefaultNameBytes  = 8 << 20
	DefaultThreads    = 1 << 16

	// MaxTypeName is the longest name of an object in formats 4 and 5.
	MaxTypeName = 128
	// MaxKeyValues is the number of pairs in a trace block of format 6.
	MaxKeyValues = 1 << 12
)

// Limits bounds the memory of a [Reader]. A zero field means its default.
type Limits struct {
	// BlockBytes is the length of one block. Over it: an error.
	BlockBytes int
	// HeldEvents and HeldBytes bound what is held back until its order is
	// certain, the events and their payloads. Over it all is handed out, and
	// counted in Stats.Forced.
	HeldEvents, HeldBytes int
	// Metadata is the largest id of a type of event, NameBytes the sum of all
	// names. Over it: an error.
	Metadata, NameBytes int
	// Threads that are known at once. Over it, what is known of their sequence
	// numbers is forgotten and counted in Stats.Forgotten; in format 6, where
	// their ids would be lost with it, an error.
	Threads int
}

func (l Limits) withDefaults() Limits {
	set := func(p *int, d int) {
		if *p <= 0 {
			*p = d
		}
	}
	set(&l.BlockBytes, DefaultBlockBytes)
	set(&l.HeldEvents, DefaultHeldEvents)
	set(&l.HeldBytes, DefaultHeldBytes)
	set(&l.Metadata, DefaultMetadata)
	set(&l.NameBytes, DefaultNameBytes)
	set(&l.Threads, DefaultThreads)
	return l
}

// Stats counts what a stream held and what happened to it.
type Stats struct {
	Events    uint64 // handed out or not wanted
	Lost      uint64 // events that their threads numbered and the stream does not hold
	Untyped   uint64 // events whose type the stream does not define; not handed out, but as lost
	Late      uint64 // handed out after an event of a later time: they came after a flush, or broke their promise
	Forced    uint64 // times that events were handed out early because of HeldEvents or HeldBytes
	Forgotten uint64 // threads whose sequence numbers were forgotten
}
