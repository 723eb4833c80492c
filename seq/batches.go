package seq

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/sftseq/sftseq/internal/philox"
)

// poolBatches is the number of batches in a pool. Rows are sorted by length within each pool only.
// In a larger pool, the lengths within a batch are more uniform, but the composition of the batches
// is less random.
const poolBatches = 64

// Batches is the order in which training visits the rows of a data set. The order depends only on
// lengths, batch size, seed and epoch, so a checkpoint only has to store a position. Each epoch has
// every row exactly once, in batches of rows of similar length. Batches is not safe for concurrent
// use.
type Batches struct {
	lengths []int32
	size    int
	seed    uint64

	epoch uint32 // epoch of order; unused while order is nil
	order [][]uint32
}

// Position identifies the next batch of training.
type Position struct {
	Epoch uint32 `json:"epoch"`
	Batch int    `json:"batch"`
}

// NewBatches returns the order for the given batch size in rows. The slice lengths holds each row's
// number of tokens.
func NewBatches(lengths []int32, size int, seed uint64) (*Batches, error) {
	if size < 1 {
		return nil, fmt.Errorf("batch size: expected at least 1, found %d", size)
	}
	if len(lengths) == 0 {
		return nil, fmt.Errorf("batches: expected at least one row, found none")
	}
	return &Batches{lengths: lengths, size: size, seed: seed}, nil
}

// PerEpoch returns the number of batches of an epoch. One batch is shorter than the others if the
// rows do not divide evenly.
func (b *Batches) PerEpoch() int { return (len(b.lengths) + b.size - 1) / b.size }

// At returns the row indices of a batch, 0 ≤ p.Batch < PerEpoch(). The slice stays valid, and the
// caller must not change it.
func (b *Batches) At(p Position) []uint32 {
	return b.Epoch(p.Epoch)[p.Batch]
}

// Next returns the position after p.
func (b *Batches) Next(p Position) Position {
	if p.Batch+1 < b.PerEpoch() {
		return Position{p.Epoch, p.Batch + 1}
	}
	return Position{p.Epoch + 1, 0}
}

// Epoch returns all batches of an epoch. It caches the most recent epoch.
func (b *Batches) Epoch(epoch uint32) [][]uint32 {
	if b.order == nil || b.epoch != epoch {
		b.order, b.epoch = b.arrange(epoch), epoch
	}
	return b.order
}

// arrange returns the batches of an epoch. It permutes the rows and cuts the permutation into
// pools. It sorts each pool by length, cuts it into batches and permutes the batches. Rows of equal
// length stay in the permutation's order. The short batch, if any, is in the last pool.
func (b *Batches) arrange(epoch uint32) [][]uint32 {
	rows := make([]uint32, len(b.lengths))
	for i := range rows {
		rows[i] = uint32(i)
	}
	permute(rows, b.seed, 0, epoch)
	var batches [][]uint32
	number := uint32(0)
	for pool := range slices.Chunk(rows, min(poolBatches*b.size, len(rows))) {
		number++
		slices.SortStableFunc(pool, func(x, y uint32) int { return cmp.Compare(b.lengths[x], b.lengths[y]) })
		from := len(batches)
		batches = slices.AppendSeq(batches, slices.Chunk(pool, b.size))
		permute(batches[from:], b.seed, number, epoch)
	}
	return batches
}

// permute shuffles items with the Fisher-Yates method. The Philox words of the counter
// (i, StreamShuffle, stream, epoch) select the item with which item i is swapped. The stream is 0
// for the rows, and the pool's number, from 1, for the batches of a pool.
func permute[T any](items []T, seed uint64, stream, epoch uint32) {
	for i := len(items) - 1; i > 0; i-- {
		w := philox.Words(seed, [4]uint32{uint32(i), philox.StreamShuffle, stream, epoch})
		// The high half of the 128-bit product is uniform up to a bias of 2⁻³².
		j, _ := bits.Mul64(uint64(w[0])<<32|uint64(w[1]), uint64(i+1))
		items[i], items[j] = items[j], items[i]
	}
}

// Sequential returns the rows 0 … n−1 in ascending order, in batches for evaluation. The batch size
// must be at least 1.
func Sequential(n, size int) [][]uint32 {
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(i)
	}
	return slices.Collect(slices.Chunk(rows, size))
}
