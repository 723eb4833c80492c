package sft

// Communicator connects the processes of a run, its ranks, which share the micro-batches of
// every batch. Every rank makes the same calls in the same order; words are of 32 bits.
type Communicator interface {
	Rank() int // from 0
	Size() int
	// AllGather gives all ranks everybody's words, in the order of ranks; counts has how many
	// each sends.
	AllGather(send, receive []uint32, counts []int) error
	// AllToAll sends the first sendCounts[0] words to rank 0, those behind to rank 1, …, and
	// receives such words from each.
	AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error
}
