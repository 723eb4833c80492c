package sft

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	linearmodel "github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// inMemory are rows whose class is the token that they have beside those of noise.
type inMemory []seq.Example

func (r inMemory) Lengths() (out []int32) {
	for _, e := range r {
		out = append(out, int32(e.Length()))
	}
	return out
}

func (r inMemory) Example(i int) (seq.Example, error) { return r[i], nil }

func newInMemory(seed uint64, n, classes int) (out inMemory) {
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

// linearDir is the directory of a linear model of three classes, trained from a seed.
func linearDir(t *testing.T, seed uint64) (string, *linearmodel.Model) {
	t.Helper()
	s := &seq.Spec{Task: seq.Classification, VocabSize: 20, PadID: new(int32), LabelNames: []string{"a", "b", "c"}}
	o := ngram.Options{Units: ngram.Tokens, MinN: 1, MaxN: 2, Slots: ngram.MinSlots, MinCount: 1}
	l, _ := must.Get2(linearmodel.Fit(context.Background(), must.Get(linearmodel.NewConfig(s, o))(t),
		newInMemory(1, 300, 3), nil, linearmodel.Options{Seed: seed}))(t)
	dir := t.TempDir()
	must.Succeed(t, l.Save(dir))
	return dir, l
}

// TestLinear: a linear model is loaded and scored as any other is, with the same logits in any batch and on any thread.
func TestLinear(t *testing.T) {
	dir, l := linearDir(t, 1)
	m := must.Get(Load(dir))(t)
	c := must.Get(ReadModelConfig(dir))(t)
	if !c.IsLinear() || c.NumLabels != 3 || c.Task != Classification ||
		!slices.Equal(c.LabelNames, []string{"a", "b", "c"}) || *c.PadTokenID != 0 {
		t.Errorf("%+v", c)
	}
	s := must.Get(NewScorer(m, nil))(t)
	defer s.Close()
	rows, p, right := newInMemory(2, 500, 3), l.NewPredictor(), 0
	for _, ctx := range []context.Context{context.Background(), Urgent(context.Background())} {
		for i, o := range must.Get(s.Examples(ctx, rows))(t) {
			want := p.Logits(&rows[i])
			for c, z := range o.Logits {
				if z != float32(want[c]) {
					t.Fatalf("row %d: logits %v, expected %v", i, o.Logits, want)
				}
			}
			if o.Logits[rows[i].Label] == slices.Max(o.Logits) {
				right++
			}
		}
	}
	if right < 980 {
		t.Errorf("%d of 1000 are right", right)
	}
	must.Succeed(t, s.Probe(context.Background()))
	if s.Kernels() != LinearType || s.Slots() < 1 || s.PassTokens() < 1 || s.Preemptive() {
		t.Errorf("%s, %d slots of %d tokens", s.Kernels(), s.Slots(), s.PassTokens())
	}
	must.Fail(t, "example 1: token 20 at index 0 is outside the vocabulary of 20")(s.Examples(context.Background(),
		[]seq.Example{rows[0], {A: []int32{20}}}))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	must.FailWith(t, context.Canceled)(s.Examples(ctx, rows))
}

// TestLinearRefuses: what needs layers is refused, by single models and several.
func TestLinearRefuses(t *testing.T) {
	dir, _ := linearDir(t, 1)
	other, _ := linearDir(t, 2)
	models := []*Model{must.Get(Load(dir))(t), must.Get(Load(other))(t)}
	for _, scorer := range []*Scorer{must.Get(NewScorer(models[0], nil))(t), must.Get(NewEnsemble(models, nil))(t)} {
		ctx, e := context.Background(), []seq.Example{{A: []int32{1}}}
		for name, call := range map[string]func() error{
			"embeddings":    func() error { _, err := scorer.Embeddings(ctx, [][]int32{{1}}); return err },
			"explanations":  func() error { _, err := scorer.Explain(ctx, e); return err },
			"hidden states": func() error { _, err := scorer.HiddenStates(ctx, e); return err },
			"masks":         func() error { _, err := scorer.Fill(ctx, [][]int32{{1}}); return err },
			"losses":        func() error { _, err := scorer.MaskedLosses(ctx, nil, e); return err },
			"pairs":         func() error { _, err := scorer.Compare(ctx, nil, nil); return err },
		} {
			if err := call(); !errors.Is(err, ErrLinear) {
				t.Errorf("%s: %v", name, err)
			}
		}
		scorer.Close()
	}
	both := must.Get(NewEnsemble(models, nil))(t)
	out := must.Get(both.Examples(context.Background(), newInMemory(3, 20, 3)))(t)
	if len(out) != 20 || both.Members() != 2 || len(out[0].Logits) != 3 {
		t.Errorf("%d outputs of %d models", len(out), both.Members())
	}
	must.Fail(t, "the first")(NewEnsemble([]*Model{models[0], must.Get(Load("testdata/golden/pre"))(t)},
		tensor.Device(nil)))
	must.Succeed(t, os.Truncate(filepath.Join(dir, weightsFile), 100))
	must.Fail(t, weightsFile)(Load(dir))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, configFile),
		fmt.Appendf(nil, `{"model_type":"linear","ngrams":{"units":"words","min_n":1,"max_n":3,"slots":%d,"min_count":2}}`, 1<<40), 0o666))
	must.Fail(t, configFile)(Load(dir))
}

// TestWriteWeights: the bytes are those of the weights, the same for a model that is loaded again.
func TestWriteWeights(t *testing.T) {
	of := func(dir string) string {
		var out bytes.Buffer
		must.Succeed(t, must.Get(Load(dir))(t).WriteWeights(&out))
		return out.String()
	}
	first, _ := linearDir(t, 1)
	other, _ := linearDir(t, 2)
	if a, b := of(first), of(other); a != of(first) || a == b || len(a) < 1000 {
		t.Errorf("%d and %d bytes", len(a), len(b))
	}
	m := must.Get(Load("testdata/golden/pre"))(t)
	var out bytes.Buffer
	must.Succeed(t, m.WriteWeights(&out))
	if got := math.Float32frombits(binary.LittleEndian.Uint32(out.Bytes()[4:])); out.Len() != 4*len(m.Weights) ||
		got != m.Weights[1] {
		t.Errorf("%d bytes of %d weights", out.Len(), len(m.Weights))
	}
}
