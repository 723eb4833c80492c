package train

import (
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// order maps each step to its rows. The stages, if any, come first, each on a part of the rows. Epochs of
// all rows follow. The order depends only on the settings and the lengths.
type order struct {
	epochs *seq.Batches
	stages []stage
	mean   float64 // mean number of tokens of a step after the stages
}

// stage is a range of steps that train on a part of the rows.
type stage struct {
	first, end int // range of steps
	batches    *seq.Batches
	rows       []uint32 // row in the training split for each index in batches
	tokens     float64  // mean number of tokens of a step
}

func newOrder(lengths []int32, s Settings) (*order, error) {
	all, err := seq.NewBatches(lengths, s.Batch, s.Seed)
	if err != nil {
		return nil, err
	}
	o := &order{epochs: all, mean: float64(total(lengths)) / float64(all.PerEpoch())}
	step := 0
	for i, g := range s.Stages {
		if n := max(g.Rows, g.LastRows); n > len(lengths) {
			return nil, fmt.Errorf("stage %d trains on %d rows, but the training data has only %d", i+1, n, len(lengths))
		}
		part := stage{first: step, end: step + g.Steps}
		step = part.end
		var short []int32
		for row, n := range lengths {
			if g.includes(row, len(lengths), int(n)) {
				short = append(short, n)
				part.rows = append(part.rows, uint32(row))
			}
		}
		if len(short) == 0 {
			return nil, fmt.Errorf("stage %d trains on rows of at most %d tokens, but the training data has none", i+1,
				g.Length)
		}
		if part.batches, err = seq.NewBatches(short, s.Batch, s.Seed); err != nil {
			return nil, err
		}
		part.tokens = float64(total(short)) / float64(part.batches.PerEpoch())
		o.stages = append(o.stages, part)
	}
	return o, nil
}

// includes reports whether a stage trains on a row of n tokens. The parameter row is its index, and rows
// is the number of rows in the split.
func (g Stage) includes(row, rows, n int) bool {
	return row < g.Rows || row >= rows-g.LastRows || n <= g.Length
}

// steps returns the number of steps of a run, including the stages.
func (o *order) steps(s *Settings) int {
	if s.Steps > 0 {
		return s.Steps
	}
	return s.StageSteps() + s.Epochs*o.epochs.PerEpoch()
}

// stageEpochs is the number of epochs reserved for each stage: stages and the epochs of all rows
// shuffle with disjoint epoch numbers.
const stageEpochs = 1 << 24

// batch returns the rows of the next step, and the number of their epoch. Stage i, counted from 1,
// numbers its epochs from i·stageEpochs on.
func (o *order) batch(s State) (rows []uint32, epoch uint32) {
	for i, g := range o.stages {
		if s.Step >= g.end {
			continue
		}
		n, at := g.batches.PerEpoch(), s.Step-g.first
		epoch = stageEpochs*uint32(i+1) + uint32(at/n)
		for _, p := range g.batches.At(seq.Position{Epoch: epoch, Batch: at % n}) {
			rows = append(rows, g.rows[p])
		}
		return rows, epoch
	}
	return o.epochs.At(s.Next), s.Next.Epoch
}

// next returns the position in the epochs of all rows after the next step.
func (o *order) next(s State) seq.Position {
	if n := len(o.stages); n > 0 && s.Step < o.stages[n-1].end {
		return s.Next
	}
	return o.epochs.Next(s.Next)
}

// tokens estimates the number of tokens in the steps [from, to). It uses the mean of all batches,
// because their order is random.
func (o *order) tokens(from, to int) float64 {
	sum := 0.0
	for _, g := range o.stages {
		sum += g.tokens * float64(max(0, min(to, g.end)-max(from, g.first)))
		from = max(from, min(to, g.end))
	}
	return sum + o.mean*float64(max(0, to-from))
}

// total returns the sum of lengths.
func total(lengths []int32) (n int64) {
	for _, l := range lengths {
		n += int64(l)
	}
	return n
}
