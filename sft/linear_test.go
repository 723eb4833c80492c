package sft_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestLinear checks that Load and NewScorer accept a linear model, and that the scorer's logits equal
// the predictor's, on all threads and on one. It also checks the accuracy and errors.
func TestLinear(t *testing.T) {
	dir, l := modeltest.LinearDir(t, 1)
	m := must.Get(sft.Load(dir))(t)
	c := must.Get(sft.ReadModelConfig(dir))(t)
	if !c.IsLinear() || c.NumLabels != 3 || c.Task != config.Classification ||
		!slices.Equal(c.LabelNames, []string{"a", "b", "c"}) || *c.PadTokenID != 0 {
		t.Errorf("configuration %+v, want 3 labels and padding 0", c)
	}
	s := must.Get(sft.NewScorer(m, nil))(t)
	defer s.Close()
	rows, p, correct := modeltest.NewInMemory(2, 500, 3), l.NewPredictor(), 0
	for _, ctx := range []context.Context{context.Background(), sft.Urgent(context.Background())} {
		for i, o := range must.Get(s.Examples(ctx, rows))(t) {
			want := p.Logits(&rows[i])
			for c, z := range o.Logits {
				if z != float32(want[c]) {
					t.Fatalf("row %d: logits %v, expected %v", i, o.Logits, want)
				}
			}
			if o.Logits[rows[i].Label] == slices.Max(o.Logits) {
				correct++
			}
		}
	}
	if correct < 980 {
		t.Errorf("%d of 1000 predictions are correct, want at least 980", correct)
	}
	must.Succeed(t, s.Probe(context.Background()))
	if s.Kernels() != config.LinearType || s.Slots() < 1 || s.PassTokens() < 1 || s.Preemptive() {
		t.Errorf("kernels %s, %d slots of %d tokens, preemptive %t; want kernels %s, at least 1 slot of 1 token and "+
			"not preemptive", s.Kernels(), s.Slots(), s.PassTokens(), s.Preemptive(), config.LinearType)
	}
	must.Fail(t, "example 1: token 20 at index 0 is outside the vocabulary of 20")(s.Examples(context.Background(),
		[]seq.Example{rows[0], {A: []int32{20}}}))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	must.FailWith(t, context.Canceled)(s.Examples(ctx, rows))
}

// TestLinearRefuses checks that linear models and ensembles of them refuse calls that need layers. It also
// checks the errors for an ensemble of models with different outputs and for damaged files.
func TestLinearRefuses(t *testing.T) {
	dir, _ := modeltest.LinearDir(t, 1)
	other, _ := modeltest.LinearDir(t, 2)
	models := []*sft.Model{must.Get(sft.Load(dir))(t), must.Get(sft.Load(other))(t)}
	for _, scorer := range []*sft.Scorer{must.Get(sft.NewScorer(models[0], nil))(t),
		must.Get(sft.NewEnsemble(models, nil))(t)} {
		ctx, e := context.Background(), []seq.Example{{A: []int32{1}}}
		for name, call := range map[string]func() error{
			"embeddings":    func() error { _, err := scorer.Embeddings(ctx, [][]int32{{1}}); return err },
			"hidden states": func() error { _, err := scorer.HiddenStates(ctx, e); return err },
			"masks":         func() error { _, err := scorer.Fill(ctx, [][]int32{{1}}); return err },
			"losses":        func() error { _, err := scorer.MaskedLosses(ctx, nil, e); return err },
			"pairs":         func() error { _, err := scorer.Compare(ctx, nil, nil); return err },
		} {
			if err := call(); !errors.Is(err, sft.ErrLinear) {
				t.Errorf("%s: error %v, want ErrLinear", name, err)
			}
		}
		scorer.Close()
	}
	ensemble := must.Get(sft.NewEnsemble(models, nil))(t)
	must.FailWith(t, sft.ErrEnsemble)(ensemble.Explain(context.Background(), []seq.Example{{A: []int32{1}}}))
	out := must.Get(ensemble.Examples(context.Background(), modeltest.NewInMemory(3, 20, 3)))(t)
	if len(out) != 20 || ensemble.Members() != 2 || len(out[0].Logits) != 3 {
		t.Errorf("%d outputs of %d models, want 20 outputs of 2", len(out), ensemble.Members())
	}
	must.Fail(t, "the first")(sft.NewEnsemble([]*sft.Model{models[0], must.Get(sft.Load("testdata/golden/pre"))(t)},
		tensor.Device(nil)))
	must.Succeed(t, os.Truncate(filepath.Join(dir, model.WeightsFile), 100))
	must.Fail(t, model.WeightsFile)(sft.Load(dir))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, model.ConfigFile),
		fmt.Appendf(nil, `{"model_type":"linear","ngrams":{"units":"words","min_n":1,"max_n":3,"slots":%d,"min_count":2}}`, 1<<40), 0o666))
	must.Fail(t, model.ConfigFile)(sft.Load(dir))
}

// TestLinearExplain checks that Explain returns the logits of Examples and explains the class with
// the largest logit.
func TestLinearExplain(t *testing.T) {
	dir, l := modeltest.LinearDir(t, 1)
	s := must.Get(sft.NewScorer(must.Get(sft.Load(dir))(t), nil))(t)
	rows := modeltest.NewInMemory(3, 100, 3)
	plain := must.Get(s.Examples(context.Background(), rows))(t)
	got := must.Get(s.Explain(context.Background(), rows))(t)
	p := l.NewPredictor()
	for i, o := range got {
		if !slices.Equal(o.Logits, plain[i].Logits) || len(o.Explanations) != 1 {
			t.Fatalf("row %d: logits %v with %d explanations, expected %v", i, o.Logits, len(o.Explanations),
				plain[i].Logits)
		}
		e, best := o.Explanations[0], sft.Argmax(o.Logits)
		want := p.Explain(&rows[i], best)[0]
		if e.Layers != nil || e.Pooling != nil || e.Linear.Output != best || e.Linear.Rest != float32(want.Rest) ||
			len(e.Linear.NGrams) != len(want.NGrams) || len(e.Linear.NGrams) == 0 {
			t.Fatalf("row %d: %+v, expected %+v", i, e.Linear, want)
		}
		for n, g := range e.Linear.NGrams {
			first := want.NGrams[n].Places[0]
			if g.Contribution != float32(want.NGrams[n].Contribution) ||
				g.Places[0] != [2]int32{int32(first[0]), int32(first[1])} ||
				len(g.Places) != len(want.NGrams[n].Places) {
				t.Errorf("row %d: n-gram %+v, expected %+v", i, g, want.NGrams[n])
			}
		}
		if n := 2 * len(e.Linear.NGrams); n > s.ExplanationNumbers(len(rows[i].A)) {
			t.Errorf("row %d: at least %d numbers, want at most ExplanationNumbers = %d", i, n,
				s.ExplanationNumbers(len(rows[i].A)))
		}
	}
	bad := []seq.Example{rows[0], {A: []int32{20}}}
	must.Fail(t, "example 1: token 20")(s.Explain(context.Background(), bad))
}

// TestWriteWeights checks that WriteWeights writes the weights, and the same bytes after loading a
// model again.
func TestWriteWeights(t *testing.T) {
	weightsOf := func(dir string) string {
		var out bytes.Buffer
		must.Succeed(t, must.Get(sft.Load(dir))(t).WriteWeights(&out))
		return out.String()
	}
	first, _ := modeltest.LinearDir(t, 1)
	other, _ := modeltest.LinearDir(t, 2)
	if a, b := weightsOf(first), weightsOf(other); a != weightsOf(first) || a == b || len(a) < 1000 {
		t.Errorf("two models write %d and %d bytes, want different and reproducible weights", len(a), len(b))
	}
	m := must.Get(sft.Load("testdata/golden/pre"))(t)
	var out bytes.Buffer
	must.Succeed(t, m.WriteWeights(&out))
	if got := math.Float32frombits(binary.LittleEndian.Uint32(out.Bytes()[4:])); out.Len() != 4*len(m.Weights) ||
		got != m.Weights[1] {
		t.Errorf("%d bytes with the second weight %v, want %d bytes and %v", out.Len(), got, 4*len(m.Weights),
			m.Weights[1])
	}
}
