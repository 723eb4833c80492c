package sft

// Communicator connects the processes of a run, its ranks, which share the micro-batches of every
// batch. All ranks make the same calls in the same order. Words have 32 bits.
type Communicator interface {
	Rank() int // from 0
	Size() int
	// AllGather sends the words of every rank to all ranks, in the order of ranks. counts holds the
	// number of words of each rank.
	AllGather(send, receive []uint32, counts []int) error
	// AllToAll sends the first sendCounts[0] words to rank 0, the next sendCounts[1] words to rank
	// 1, and so on. It receives receiveCounts[r] words from each rank r.
	AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error
}
