package gotrace

// The named defaults of [Limits], and the limits of the format itself.
const (
	// MaxBatchBytes is tracev2.MaxBatchSize, the largest batch of the format.
	MaxBatchBytes = 64 << 10
	// MaxStringBytes is tracev2.MaxEventTrailerDataSize, the longest string.
	MaxStringBytes = 1 << 10
	// MaxFrames is tracev2.MaxFramesPerStack, the deepest stack.
	MaxFrames = 128

	DefaultGenerationBytes = 1 << 30
	DefaultTableBytes      = 64 << 20
	DefaultStrings         = 1 << 20
	DefaultStacks          = 1 << 20
	DefaultThreads         = 1 << 16
	DefaultTransitions     = 4 << 20
	DefaultRecords         = 1 << 20
	DefaultFollowed        = 1 << 16
	DefaultNames           = 1 << 16
)

// Limits bounds the memory of a [Reader]. A zero field means its default.
// Everything is counted per generation unless it says otherwise.
type Limits struct {
	// GenerationBytes is the length of one generation on the wire. Over it:
	// an error, since a stream whose generations do not end cannot be decoded.
	GenerationBytes int64
	// TableBytes bounds the kept batches of strings, and apart from them those
	// of stacks, with 16 bytes for each batch. Over it: counted in Lost.Strings or Lost.Stacks, as batches.
	TableBytes int
	// Strings and Stacks are the largest ids that are looked up. Over it:
	// counted, and the text is empty.
	Strings, Stacks int
	// Threads that are known at once. Over it: an error.
	Threads int
	// Transitions of goroutines between states, 24 bytes each, rounded up to
	// 16384. Kept only if there may be Tracks. Over it those go that are of
	// goroutines without a user log or a task, and of goroutines with very many; one that is
	// followed all the same is counted in Lost.Tracks. Where that does not make
	// room for half: counted, and the generation has no Tracks.
	Transitions int
	// Records of each kind: stops, edges of collections, ranges, workers, user
	// logs, edges of tasks, turns of coroutines, heap samples, and the frames of all the stacks that are reported. Over
	// it: counted, frames as stacks.
	Records int
	// Followed is the number of goroutines that are followed at once, across
	// generations. Over it: counted.
	Followed int
	// Names is the number of different reasons, functions, files, keys and names of tasks that
	// are kept across generations. Over it they are forgotten with the next
	// generation, and start anew.
	Names int
}

func (l Limits) withDefaults() Limits {
	if l.GenerationBytes <= 0 {
		l.GenerationBytes = DefaultGenerationBytes
	}
	set := func(p *int, d int) {
		if *p <= 0 {
			*p = d
		}
	}
	set(&l.TableBytes, DefaultTableBytes)
	set(&l.Strings, DefaultStrings)
	set(&l.Stacks, DefaultStacks)
	set(&l.Threads, DefaultThreads)
	set(&l.Transitions, DefaultTransitions)
	set(&l.Records, DefaultRecords)
	set(&l.Followed, DefaultFollowed)
	set(&l.Names, DefaultNames)
	return l
}

// Lost counts what a generation held and its report does not.
type Lost struct {
	Generations uint64 // missing before this one: their numbers were skipped
	Strings     uint64 // batches or ids over a limit
	Stacks      uint64 // batches, ids or reported stacks over a limit
	Transitions uint64 // over the limit; the generation then has no Tracks
	Tracks      uint64 // goroutines that transitions or turns went missing of: their Track begins late, if there is one
	Stops       uint64 // over the limit
	Handoffs    uint64 // of a P to or from a thread, over 262,144: no Restart is known
	Cycles      uint64 // over the limit
	Ranges      uint64 // over the limit
	Workers     uint64 // over the limit
	Marks       uint64 // over the limit
	Tasks       uint64 // begins and ends over the limit
	Samples     uint64 // over the limit
	Followed    uint64 // goroutines that could not be followed
	Unmatched   uint64 // ends without a begin, and begins that were never ended
}

// Any reports whether anything was lost.
func (l *Lost) Any() bool { return *l != Lost{} }
