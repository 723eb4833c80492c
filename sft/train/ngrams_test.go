package train

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/sparse"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// TestNGramSums checks that sums of sparse gradients equal dense sums by the same tree of additions. The
// function decode must refuse malformed bytes.
func TestNGramSums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	const width = 3
	for leaves := 1; leaves < 12; leaves++ {
		gradients, dense := make([]*model.Result, leaves), make([][]float32, leaves)
		for i := range gradients {
			g := sparse.Gradient{}
			for row := range uint32(20) {
				if random.IntN(2) == 0 {
					g.Rows = append(g.Rows, row)
					for range width {
						g.Values = append(g.Values, float32(random.NormFloat64()))
					}
				}
			}
			gradients[i], dense[i] = &model.Result{NGrams: g}, denseRows(g, 20*width, width)
		}
		got := must.Get((&accumulator{}).sumNGrams(sumsOf(gradients, 0, leaves), leaves))(t)
		if !slices.Equal(denseRows(got, 20*width, width), addTree(dense)) {
			t.Errorf("%d leaves: the sum differs from the dense sum of the tree", leaves)
		}
	}
	for _, text := range []string{"", "\xff\xff\xff\xff\xff\xff\xff\xff", "\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00"} {
		must.Fail(t, "sums of n-grams")(ngramSums{}.decode([]distributed.Node{{}}, width, []byte(text)))
	}
}

// TestSelectedNGrams checks that max_features limits the rows of the table, and that a table with a
// higher limit contains the selected n-grams.
func TestSelectedNGrams(t *testing.T) {
	rows, _ := tinySplits(t, config.Classification)
	c := configtest.TinyConfig()
	c.NGrams = &config.NGrams{Units: ngram.Tokens, MinN: 1, MaxN: 2, Slots: 1 << 12, MinCount: 1, MaxFeatures: 5}
	m := sft.NewModel(c, 1)
	must.Succeed(t, m.CollectNGrams(t.Context(), rows))
	if n := len(m.NGrams.Weights); n != 5*c.HiddenSize {
		t.Fatalf("the table has %d numbers, want 5 rows of %d", n, c.HiddenSize)
	}
	c.NGrams.MaxFeatures = 1 << 12
	all := sft.NewModel(c, 1)
	must.Succeed(t, all.CollectNGrams(t.Context(), rows))
	if n := len(all.NGrams.Weights); n <= 5*c.HiddenSize {
		t.Errorf("the table with the higher limit has %d numbers, want more than %d", n, 5*c.HiddenSize)
	}
	for i, w := range m.NGrams.Used {
		if w&^all.NGrams.Used[i] != 0 {
			t.Errorf("word %d of the selected slots is %b, of all slots %b", i, w, all.NGrams.Used[i])
		}
	}
}

// TestCollectNGrams checks that all embeddings are zero, and that a token of the training rows
// has an embedding if and only if it occurs in at least MinCount sequences. Each sequence of a pair counts.
func TestCollectNGrams(t *testing.T) {
	train, _ := tinySplits(t, config.Retrieval)
	c := configtest.WithTask(configtest.TinyConfig(), config.Retrieval)
	c.NGrams = &config.NGrams{Units: ngram.Tokens, MinN: 1, MaxN: 2, Slots: 1 << 12, MinCount: 2}
	m := sft.NewModel(c, 1)
	must.Succeed(t, m.CollectNGrams(t.Context(), train))
	o := ngram.Options{Units: ngram.Tokens, MinN: 1, MaxN: 2, Slots: 1 << 12, MinCount: 2}
	v := must.Get(ngram.NewVocabulary(o, m.NGrams.Kept, m.NGrams.Used))(t)
	rows := map[int32]map[[2]int]bool{}
	for i := range train.Len() {
		e := must.Get(train.Example(i))(t)
		for side, tokens := range [][]int32{e.A, e.B} {
			for _, token := range tokens {
				if rows[token] == nil {
					rows[token] = map[[2]int]bool{}
				}
				rows[token][[2]int{i, side}] = true
			}
		}
	}
	x := ngram.NewExtractor(ngram.Options{Units: ngram.Tokens, MinN: 1, MaxN: 1})
	for token, in := range rows {
		_, ok := v.Feature(x.Hashes([]int32{token}, nil)[0])
		if ok != (len(in) >= 2) {
			t.Errorf("token %d occurs in %d sequences: got an embedding %t, want %t", token, len(in), ok, !ok)
		}
	}
	nonzero := slices.ContainsFunc(m.NGrams.Weights, func(w float32) bool { return w != 0 })
	if n := v.Size(); n < 9 || len(m.NGrams.Weights) != n*c.HiddenSize || nonzero {
		t.Errorf("%d n-grams with %d numbers, some not zero: %v; want at least 9 n-grams with %d zeros each", n,
			len(m.NGrams.Weights), nonzero, c.HiddenSize)
	}
}
