package modeltest

import (
	"context"
	"math/rand/v2"
	"testing"

	linearmodel "github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
)

// inMemory holds rows of noise tokens. One token per row, 10 plus the class, determines the class.
type inMemory []seq.Example

func (r inMemory) Lengths() (out []int32) {
	for _, e := range r {
		out = append(out, int32(e.Length()))
	}
	return out
}

func (r inMemory) Example(i int) (seq.Example, error) { return r[i], nil }

// NewInMemory returns n random rows of the given number of classes.
func NewInMemory(seed uint64, n, classes int) (out inMemory) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		e := seq.Example{A: make([]int32, 3+r.IntN(30)), Label: int32(r.IntN(classes))}
		for i := range e.A {
			e.A[i] = int32(1 + r.IntN(9))
		}
		e.A[r.IntN(len(e.A))] = 10 + e.Label
		out = append(out, e)
	}
	return out
}

// LinearDir trains a linear model of three classes from a seed and returns its directory and the
// model.
func LinearDir(t *testing.T, seed uint64) (string, *linearmodel.Model) {
	t.Helper()
	s := &seq.Spec{Task: seq.Classification, VocabSize: 20, PadID: new(int32), LabelNames: []string{"a", "b", "c"}}
	o := ngram.Options{Units: ngram.Tokens, MinN: 1, MaxN: 2, Slots: ngram.MinSlots, MinCount: 1}
	l, _ := must.Get2(linearmodel.Fit(context.Background(), must.Get(linearmodel.NewConfig(s, o))(t),
		NewInMemory(1, 300, 3), nil, linearmodel.Options{Seed: seed}))(t)
	dir := t.TempDir()
	must.Succeed(t, l.Save(dir))
	return dir, l
}
