//go:build cgo

package vk

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// TestSplitGradients checks that gradients, except that of the embeddings, are bitwise identical when
// dispatches are split by rows, by heads, by chunks of queries and by chunks of rows.
func TestSplitGradients(t *testing.T) {
	d := open(t, Options{})
	m, _, _ := tinyModel(t)
	random := rand.New(rand.NewPCG(8, 9))
	var examples []seq.Example
	for i, n := range []int{700, 1500, 3, 300} {
		e := seq.Example{Index: uint32(i), A: make([]int32, n), Label: random.Int32N(3)}
		for j := range e.A {
			e.A[j] = random.Int32N(9)
		}
		examples = append(examples, e)
	}
	gradient := func() []uint32 {
		g, _ := must.Get2(train.Gradient(t.Context(), m, d, examples))(t)
		return tensor.Bits(g)
	}
	want := gradient()
	setMinimalLimits(t, d)
	got := gradient()
	for _, p := range m.Parameters.List {
		// The gradient of the embeddings depends on the split, because its chunks of at least 256 tokens span
		// several blocks of rows. The split is the same on all devices, because it depends only on the block size.
		if p.Name == "embed.weight" {
			continue
		}
		lo, hi := p.Offset, p.Offset+p.Size()
		if !slices.Equal(got[lo:hi], want[lo:hi]) {
			t.Errorf("the gradient of %s differs between split and unsplit dispatches", p.Name)
		}
	}
}

// TestSplitNGrams checks that logits and gradients, except that of the embeddings, are bitwise identical
// when dispatches are split by blocks of the n-gram table and by blocks of the tokens. It also
// checks that no dispatch of the n-grams binds more than one block of the table or of the tokens.
func TestSplitNGrams(t *testing.T) {
	d := open(t, Options{})
	m, _, _ := tinyModel(t)
	m.Config.NGrams = &config.NGrams{Units: "tokens", MinN: 1, MaxN: 3, Slots: 1 << 10, MinCount: 1}
	random := rand.New(rand.NewPCG(8, 9))
	m.NGrams = &config.NGramTable{Used: slices.Repeat([]int32{-1}, 32), Weights: make([]float32, 8<<10)}
	for i := range m.NGrams.Weights {
		m.NGrams.Weights[i] = float32(random.NormFloat64())
	}
	x := make([]int32, 1500)
	for i := range x {
		x[i] = random.Int32N(9)
	}
	results := func() [2][]uint32 {
		s := must.Get(sft.NewScorer(m, d))(t)
		defer s.Close()
		out := must.Get(s.Classify(t.Context(), x))(t)
		g, _ := must.Get2(train.Gradient(t.Context(), m, d, []seq.Example{{A: x, Label: 1}}))(t)
		return [2][]uint32{tensor.Bits(out.Logits), tensor.Bits(g)}
	}
	want := results()
	setMinimalLimits(t, d)
	if got := results(); !slices.Equal(got[0], want[0]) || !slices.Equal(got[1][m.Parameters.List[1].Offset:],
		want[1][m.Parameters.List[1].Offset:]) {
		t.Error("logits or gradients with several blocks of the table differ from those with one block")
	}
	p := must.Get(sft.Record(m.Config, true, len(x), 1))(t)
	r := &recorder{device: d, program: p.(*tensor.Program), planning: true}
	must.Succeed(t, r.record())
	found := 0
	for _, s := range r.steps {
		if !strings.HasPrefix(s.shader, "embedbag") {
			continue
		}
		found++
		for _, o := range s.operands {
			if o.Width() == 8 && o.Shape[0] > 128 {
				t.Errorf("%s binds %d rows of %v, want at most 128", s.shader, o.Shape[0], o.Tensor)
			}
		}
	}
	if found < 100 {
		t.Errorf("got %d dispatches of the n-grams, want at least 100: several for each block of tokens", found)
	}
}

// TestDispatchesAreBounded checks that attention on longer inputs has more dispatches instead of
// longer dispatches, and that attention on short inputs has few dispatches.
func TestDispatchesAreBounded(t *testing.T) {
	d := open(t, Options{})
	m, _, _ := tinyModel(t)
	m.Config.NumSampledTokens = 256
	countDispatches := func(tokens int) map[string]int {
		p := must.Get(sft.Record(m.Config, true, tokens, 1))(t)
		r := &recorder{device: d, program: p.(*tensor.Program), planning: true}
		must.Succeed(t, r.record())
		n := map[string]int{}
		for _, s := range r.steps {
			n[s.shader]++
		}
		return n
	}
	operations := maxDispatchOperations
	defer func() { maxDispatchOperations = operations }()
	maxDispatchOperations = 1e8
	short, long := countDispatches(1<<14), countDispatches(1<<17)
	for _, shader := range []string{"attention", "attention_backward_queries", "attention_backward_keys"} {
		if short[shader] < 2 || long[shader] < 4*short[shader] {
			t.Errorf("%s: got %d dispatches, want at least 2; got %d for eight times the tokens, want at least %d",
				shader, short[shader], long[shader], 4*short[shader])
		}
	}
	maxDispatchOperations = operations
	for shader, n := range countDispatches(1 << 14) {
		if strings.HasPrefix(shader, "attention") && n > 3 { // sums need up to three dispatches
			t.Errorf("%s: %d dispatches for a short input, want at most 3", shader, n)
		}
	}
}

// TestAMillionTokens checks that training on one sequence of 2²⁰ tokens stays within the limits of
// a device with minimal bindings.
func TestAMillionTokens(t *testing.T) {
	d := open(t, Options{})
	m, _, _ := tinyModel(t)
	c := *m.Config
	c.HiddenSize, c.IntermediateSize, c.NumHeads, c.NumSampledTokens, c.MaxLength = 128, 512, 4, 256, 1<<20
	c.MovingAverages = 4
	p := must.Get(sft.Record(&c, true, c.MaxLength, 1))(t)
	d.limits.maxRange, d.limits.maxBlock = 128<<20, 1<<40
	if _, err := d.Scratch(p.(*tensor.Program)); err != nil {
		t.Error(err)
	}
}

// TestWindows checks that every piece lies in the window in which it begins.
func TestWindows(t *testing.T) {
	for _, c := range [][3]int{{1, 64, 128}, {128, 64, 128}, {129, 64, 128}, {5000, 64, 1024},
		{5000, 300, 128}, {4096, 128, 4096}} {
		rows, piece, size := c[0], c[1], c[2]
		next := 0
		eachWindow(rows, piece, size, func(w window) {
			if w.first != next || w.first%128 != 0 || w.n > max(size, 128+piece) {
				t.Errorf("%v: window %v, want one that begins at row %d, a multiple of 128, and has at most %d rows",
					c, w, next, max(size, 128+piece))
			}
			next += w.span
			if end := min(rows, next+piece); w.span > 0 && w.first+w.n < end || w.span == 0 && w.first+w.n != rows {
				t.Errorf("%v: window %v ends at row %d, want at least %d, or %d without a span", c, w,
					w.first+w.n, end, rows)
			}
			if w.span == 0 {
				next = rows
			}
		})
		if next < rows {
			t.Errorf("%v: the windows cover only %d rows", c, next)
		}
	}
}
