package train

import (
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// order says which rows each step trains on: stages of short rows first, if the
// settings have any, then epochs of all rows. It is a function of the settings
// and the lengths alone.
type order struct {
	all    *seq.Batches
	stages []stage
	mean   float64 // tokens of a step after the stages
}

// stage is a run of steps on some of the rows.
type stage struct {
	first, end int // steps
	batches    *seq.Batches
	rows       []uint32 // row of each index in a batch
	tokens     float64  // mean tokens of a step
}

func newOrder(lengths []int32, s Settings) (*order, error) {
	all, err := seq.NewBatches(lengths, s.Batch, s.Seed)
	if err != nil {
		return nil, err
	}
	o := &order{all: all, mean: float64(total(lengths)) / float64(all.PerEpoch())}
	step := 0
	for i, g := range s.Stages {
		if g.Rows > len(lengths) {
			return nil, fmt.Errorf("stage %d trains on the first %d rows, and the training data has %d",
				i+1, g.Rows, len(lengths))
		}
		part := stage{first: step, end: step + g.Steps}
		step = part.end
		var short []int32
		for row, n := range lengths {
			if g.has(row, int(n)) {
				short = append(short, n)
				part.rows = append(part.rows, uint32(row))
			}
		}
		if len(short) == 0 {
			return nil, fmt.Errorf("stage %d trains on rows of at most %d tokens, and the training data has none", i+1,
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

// has reports whether a stage trains on a row of n tokens.
func (g Stage) has(row, n int) bool { return row < g.Rows || n <= g.Length }

// steps is the length of a run, stages included: Settings.Steps counts them, too.
func (o *order) steps(s *Settings) int {
	if s.Steps > 0 {
		return s.Steps
	}
	return s.StageSteps() + s.Epochs*o.all.PerEpoch()
}

// stageEpochs keeps the epochs of a stage, for which rows are shuffled, apart
// from those of the others and of the run proper.
const stageEpochs = 1 << 24

// batch returns the rows of the step that comes next.
func (o *order) batch(s State) []uint32 {
	for i, g := range o.stages {
		if s.Step >= g.end {
			continue
		}
		n, at := g.batches.PerEpoch(), s.Step-g.first
		picks := g.batches.At(seq.Position{Epoch: stageEpochs*uint32(i+1) + uint32(at/n), Batch: at % n})
		rows := make([]uint32, len(picks))
		for i, p := range picks {
			rows[i] = g.rows[p]
		}
		return rows
	}
	return o.all.At(s.Next)
}

// next is the position among all rows after that step.
func (o *order) next(s State) seq.Position {
	if n := len(o.stages); n > 0 && s.Step < o.stages[n-1].end {
		return s.Next
	}
	return o.all.Next(s.Next)
}

// tokens is about how many the steps from one to before another train on. Batches are
// in a random order, so that their mean stands for each.
func (o *order) tokens(from, to int) float64 {
	sum := 0.0
	for _, g := range o.stages {
		sum += g.tokens * float64(max(0, min(to, g.end)-max(from, g.first)))
		from = max(from, min(to, g.end))
	}
	return sum + o.mean*float64(max(0, to-from))
}

// total adds lengths up.
func total(lengths []int32) (n int64) {
	for _, l := range lengths {
		n += int64(l)
	}
	return n
}
